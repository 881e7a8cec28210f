package rfc4180

import (
	"bytes"
)

// Fault is where and why a CSV record breaks the grammar.
type Fault struct {
	At     int // the offending byte; of an unclosed quote, the quote
	Column int
	Reason string
}

// End returns where the bad record ends, as encoding/csv has it: with the line that the fault is in, or with the file when a
// quote is not closed. It is -1 when that end is not in data.
func (f *Fault) End(data []byte, last bool) int {
	if f.Reason != Unclosed {
		if i := bytes.IndexByte(data[f.At:], '\n'); i >= 0 {
			return f.At + i + 1
		}
	}
	if last {
		return len(data)
	}
	return -1
}

// Reasons of faults.
const (
	bare     = "a quote within a field that is not quoted (quote the field and double the quote)"
	after    = "text after a closing quote (a quote within a quoted field must be doubled)"
	Unclosed = "a quote is opened and not closed"
)

// Find reads one record byte by byte and finds the first place where it is not RFC 4180. It is nil when the record
// is in order or, unless last, when its end is not in data.
func Find(data []byte, comma byte, last bool) *Fault {
	column := 0
	for i := 0; i < len(data); {
		if data[i] != '"' {
			for ; i < len(data) && data[i] != comma && data[i] != '\n'; i++ {
				if data[i] == '"' {
					return &Fault{i, column, bare}
				}
			}
		} else {
			open := i
			for i++; ; i += 2 {
				j := bytes.IndexByte(data[i:], '"')
				if j < 0 {
					if last {
						return &Fault{open, column, Unclosed}
					}
					return nil
				}
				if i += j; i+1 >= len(data) || data[i+1] != '"' {
					break
				}
			}
			i++
			if i < len(data) && data[i] == '\r' && (i+1 < len(data) && data[i+1] == '\n' || i+1 == len(data)) {
				i++
			}
			if i < len(data) && data[i] != comma && data[i] != '\n' {
				return &Fault{i, column, after}
			}
		}
		if i < len(data) && data[i] == '\n' {
			return nil
		}
		i++
		column++
	}
	return nil
}

// Closed reports whether the last record ends with data: no quote stays open.
func Closed(data []byte, comma byte) bool {
	for len(data) > 0 {
		fault := Find(data, comma, true)
		if fault == nil {
			_, end := FirstRecord(data, comma, true)
			data = data[max(end, 1):]
			continue
		}
		if fault.Reason == Unclosed {
			return false
		}
		data = data[fault.End(data, true):]
	}
	return true
}

// FirstRecord cuts the first record of the data, whose quotes are in order, into its fields, and says where the next one
// begins. It is nil when there is no whole record.
func FirstRecord(data []byte, comma byte, last bool) (names []string, end int) {
	inside := false
	for ; end < len(data) && (inside || data[end] != '\n'); end++ {
		inside = inside != (data[end] == '"')
	}
	if end == len(data) && (!last || end == 0) {
		return nil, 0
	}
	record := bytes.TrimSuffix(data[:end], []byte("\r"))
	for from := 0; from <= len(record); {
		to := from
		for inside = false; to < len(record) && (inside || record[to] != comma); to++ {
			inside = inside != (record[to] == '"')
		}
		name := record[from:to]
		if len(name) > 0 && name[0] == '"' {
			name = bytes.ReplaceAll(name[1:len(name)-1], []byte(`""`), []byte(`"`))
		}
		names = append(names, string(name))
		from = to + 1
	}
	return names, min(end+1, len(data))
}

// CROnly says that lines which begin with data end with CR only: no LF is outside of quotes, and a CR is, which is not the
// last byte of the text. more says that data is not all of it, and what follows may be otherwise.
func CROnly(data []byte, comma byte, last bool) (only, more bool) {
	quoted, begins := false, true // within quotes; a field may begin
	for i, b := range data {
		switch {
		case b == '"' && (quoted || begins):
			quoted = !quoted
			begins = !quoted // a doubled quote continues
			continue
		case quoted:
			continue
		case b == '\n':
			return false, false
		case b == '\r' && i+1 < len(data) && data[i+1] != '\n':
			only = true
		}
		begins = b == comma || b == '\r'
	}
	return only, only && !last
}
