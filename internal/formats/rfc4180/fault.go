package rfc4180

import (
	"bytes"
)

// Fault describes a violation of the grammar in a CSV record.
type Fault struct {
	At     int // the index of the offending byte, or of an unclosed quote
	Column int
	Reason string
}

// End returns the end of the bad record, as encoding/csv defines it: the end of the line with the fault, or the end of the file if a
// quote is not closed. It is -1 if that end is not in data.
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

// Find reads one record byte by byte and returns its first violation of RFC 4180. It returns nil if the record
// is valid or, unless last, if its end is not in data.
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

// Closed reports whether no quote in the last record of data is left open.
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

// FirstRecord splits the first record of data, whose quotes are valid, into its fields, and returns the beginning of the next
// record. names is nil if there is no complete record.
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

// CROnly reports whether the lines of a text that begins with data seem to end with CR only: outside of quotes there is no LF, and
// there is a CR before the last byte of data. more reports that the rest of the text may still have an LF.
func CROnly(data []byte, comma byte, last bool) (only, more bool) {
	quoted, begins := false, true // within quotes; at the beginning of a field
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
