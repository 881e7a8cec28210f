package delimited

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"bulkload/pkg/source/dialect"
)

// plainRecord is a record of the plain reader: its values, nil for NULL, or the reason of an error.
type plainRecord struct {
	at     int
	values []any
	bad    string
}

// plainRead returns the records of a text, read byte by byte up to the first bad record.
func plainRead(d *dialect.Dialect, text string, cols int) (records []plainRecord) {
	r := plainReader{d: d, text: text, cols: cols, end: d.RecordSep, cr: d.RecordSep == ""}
	if r.cr {
		r.end = "\n"
	}
	for at := 0; at < len(text); {
		if d.Comment != "" && strings.HasPrefix(text[at:], d.Comment) {
			if i := strings.Index(text[at:], r.end); i >= 0 {
				at += i + len(r.end)
				continue
			}
			return records
		}
		record, next := r.record(at)
		at = next
		if record.bad == "" && record.values == nil {
			continue
		}
		if record.bad == "" && len(record.values) != cols {
			record.bad, record.values = fmt.Sprint(len(record.values)), nil
		}
		if record.bad == "" && d.Last == dialect.LastSeparated && !r.ended {
			record.bad, record.values = reasonLast, nil
		}
		records = append(records, record)
		if record.bad != "" {
			return records
		}
	}
	return records
}

// plainReader reads a text of cols columns.
type plainReader struct {
	d    *dialect.Dialect
	text string
	cols int
	end  string // of records
	cr   bool   // CR LF ends a record too

	rest  bool // the value is the last one, and may contain separators
	ended bool // a separator ended the record
}

// plainValue is a value in its raw form, and without quotes and escapes.
type plainValue struct {
	raw, value []byte
	quoted     bool
	next       int // where the rest of the text begins
	bad        string
}

// ends returns the length of the record separator at i, or -1 if there is none.
func (r *plainReader) ends(i int) int {
	switch {
	case strings.HasPrefix(r.text[i:], r.end):
		return len(r.end)
	case r.cr && strings.HasPrefix(r.text[i:], "\r\n"):
		return 2
	}
	return -1
}

// separated reports whether a field separator is at i.
func (r *plainReader) separated(i int) bool {
	return !r.rest && strings.HasPrefix(r.text[i:], r.d.FieldSep)
}

// blanks returns the position after the blanks at i.
func (r *plainReader) blanks(i int) int {
	for r.d.Trim != dialect.TrimNone && i < len(r.text) && (r.text[i] == ' ' || r.text[i] == '\t') && !r.separated(i) {
		i++
	}
	return i
}

// record reads a record and returns it with the position of the next one. A result without values and without a reason
// is not a record.
func (r *plainReader) record(at int) (plainRecord, int) {
	record := plainRecord{at: at}
	for i := at; ; {
		var v plainValue
		r.rest = r.d.Last == dialect.LastRest && len(record.values) == r.cols-1
		if j := r.blanks(i); r.d.Quote != "" && j < len(r.text) && r.text[j] == r.d.Quote[0] {
			v = r.quoted(j)
		} else {
			v = r.bare(i)
		}
		if v.bad != "" {
			return plainRecord{at: at, bad: v.bad}, v.next
		}
		if r.d.IsNull(v.raw, v.quoted) {
			record.values = append(record.values, nil)
		} else {
			record.values = append(record.values, string(v.value))
		}
		i = v.next
		if i < len(r.text) && r.separated(i) {
			i += len(r.d.FieldSep)
			r.ended = i >= len(r.text) || r.ends(i) >= 0 || r.cr && r.text[i:] == "\r"
			if r.d.Last != dialect.LastSeparated || !r.ended {
				continue
			}
			return record, min(i+max(r.ends(i), 1), len(r.text))
		}
		r.ended = false
		if i < len(r.text) {
			line := r.text[at:i]
			i += r.ends(i)
			if line == "" && r.cr && r.cols > 1 {
				record.values = nil
			}
		}
		if i >= len(r.text) && r.noRecord(r.text[at:]) {
			record.values = nil
		}
		return record, i
	}
}

// noRecord reports whether the last line of a text is not a record: PostgreSQL's end of data, or a blank line if there
// are several columns.
func (r *plainReader) noRecord(line string) bool {
	return r.d.Map == dialect.Postgres && strings.TrimSuffix(line, "\n") == `\.` ||
		r.cr && r.cols > 1 && slices.Contains([]string{"\r", "\n", "\r\n"}, line)
}

// quoted reads a value whose opening quote is at i.
func (r *plainReader) quoted(i int) plainValue {
	d, text := r.d, r.text
	v := plainValue{quoted: true}
	for i++; ; {
		if i >= len(text) {
			return plainValue{bad: reasonUnclosed}
		}
		c := text[i]
		if d.Escape != "" && c == d.Escape[0] {
			if i+1 >= len(text) {
				return plainValue{bad: reasonUnclosed}
			}
			b, n := d.Unescaper().One([]byte(text[i+1:]))
			if d.Map == dialect.Postgres && n > 1 {
				panic("no preset")
			}
			v.value, v.raw = append(v.value, b), append(v.raw, text[i:i+2]...)
			i += 2
			continue
		}
		if c != d.Quote[0] {
			v.value, v.raw = append(v.value, c), append(v.raw, c)
			i++
			continue
		}
		if d.Doubled && i+1 < len(text) && text[i+1] == c {
			v.value, v.raw = append(v.value, c), append(v.raw, c, c)
			i += 2
			continue
		}
		if d.Lenient && i+1 < len(text) && !r.separated(i+1) && r.ends(i+1) < 0 {
			v.value, v.raw = append(v.value, c), append(v.raw, c)
			i++
			continue
		}
		i++
		break
	}
	i = r.blanks(i)
	if r.cr && i == len(text)-1 && text[i] == '\r' {
		i++
	}
	if i < len(text) && !r.separated(i) && r.ends(i) < 0 {
		return plainValue{bad: reasonAfter}
	}
	v.next = i
	return v
}

// bare reads an unquoted value that begins at i.
func (r *plainReader) bare(i int) plainValue {
	d, text := r.d, r.text
	begin, escaped := i, -1 // the last byte that is
	for i < len(text) && !r.separated(i) && r.ends(i) < 0 {
		c := text[i]
		if d.Quote != "" && c == d.Quote[0] && !d.Lenient {
			return plainValue{bad: reasonBare}
		}
		if d.Escape != "" && c == d.Escape[0] && !d.QuotedOnly {
			if i+1 >= len(text) {
				return plainValue{bad: reasonEscape}
			}
			i++
			escaped = i
		}
		i++
	}
	stop := i
	if r.cr && i == len(text) && i > begin && text[i-1] == '\r' && escaped != i-1 {
		stop--
	}
	raw := []byte(text[begin:stop])
	if d.Trim == dialect.TrimLeft || d.Trim == dialect.TrimBoth {
		raw = bytes.TrimLeft(raw, " \t")
	}
	if d.Trim == dialect.TrimRight || d.Trim == dialect.TrimBoth {
		raw = bytes.TrimRight(raw, " \t")
	}
	value := raw
	if d.Escape != "" && !d.QuotedOnly {
		value = d.Unescaper().Append(nil, raw)
	}
	return plainValue{raw: raw, value: value, next: i}
}
