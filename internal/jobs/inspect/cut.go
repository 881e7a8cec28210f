package inspect

import (
	"bytes"

	"bulkload/pkg/source/dialect"
)

// field is a value as it is written, without its quotes.
type field struct {
	from, to  int
	quoted    bool
	rewritten bool // it has escapes or doubled quotes
}

// cutter cuts text, which must be UTF-8, into records. It is independent of the scanner that jobs use, so the results of both can be compared.
type cutter struct {
	dialect  *dialect.Dialect
	unescape *dialect.Unescaper
	sep, end string
	cr       bool
	special  [256]bool
	escape   int // -1: none
	quote    int // -1: none

	fields []field // of the current record
	crlf   bool    // the record ended with CR LF
	buf    []byte
}

func newCutter(d *dialect.Dialect) *cutter {
	c := &cutter{dialect: d, sep: d.FieldSep, end: d.RecordSep, escape: -1, quote: -1}
	if c.end == "" {
		c.end, c.cr = "\n", true
	}
	c.special[c.sep[0]], c.special[c.end[0]] = true, true
	if d.Quote != "" {
		c.quote = int(d.Quote[0])
		c.special[d.Quote[0]] = true
	}
	if d.Escape != "" {
		c.escape = int(d.Escape[0])
		c.special[d.Escape[0]] = true
		c.unescape = d.Unescaper()
	}
	return c
}

// Outcomes of next.
const (
	recordWhole = iota
	recordCut   // the text ends within the record
	recordBad
)

// next cuts the record that begins at the given offset. last means that the text is complete. The result is the offset of the next record, or of the
// invalid byte of a bad record.
func (c *cutter) next(text []byte, at int, last bool) (next, outcome int) {
	c.fields, c.crlf = c.fields[:0], false
	f := field{from: at}
	for pos := at; pos < len(text); {
		b := text[pos]
		if !c.special[b] {
			pos++
			continue
		}
		switch {
		case int(b) == c.escape && !c.dialect.QuotedOnly:
			f.rewritten = true
			if pos += 2; pos > len(text) {
				if !last {
					return at, recordCut
				}
				return len(text) - 1, recordBad
			}
		case int(b) == c.quote && pos == f.from:
			var outcome int
			if pos, outcome = c.quoted(text, pos, last, &f); outcome != recordWhole {
				return pos, outcome
			}
			if pos < len(text) && !c.ends(text, pos) {
				return pos, recordBad
			}
		case int(b) == c.quote && !c.dialect.Lenient:
			return pos, recordBad
		case has(text, pos, c.sep):
			c.put(f, pos)
			pos += len(c.sep)
			f = field{from: pos}
		case has(text, pos, c.end):
			to := pos
			if c.cr && pos > f.from && text[pos-1] == '\r' {
				to, c.crlf = to-1, true
			}
			c.put(f, to)
			return pos + len(c.end), recordWhole
		default:
			pos++
		}
	}
	if !last {
		return at, recordCut
	}
	to := len(text)
	if c.cr && to > f.from && text[to-1] == '\r' {
		to, c.crlf = to-1, true
	}
	c.put(f, to)
	return len(text), recordWhole
}

// quoted skips a quoted value that opens at pos.
func (c *cutter) quoted(text []byte, pos int, last bool, f *field) (next, outcome int) {
	open := pos
	f.quoted = true
	for pos++; pos < len(text); {
		b := text[pos]
		switch {
		case int(b) == c.escape:
			f.rewritten = true
			pos += 2
		case int(b) != c.quote:
			pos++
		case c.dialect.Doubled && pos+1 < len(text) && int(text[pos+1]) == c.quote:
			f.rewritten = true
			pos += 2
		case c.dialect.Lenient && pos+1 < len(text) && !c.ends(text, pos+1):
			pos++
		case pos+1 == len(text) && !last:
			return open, recordCut
		default:
			return pos + 1, recordWhole
		}
	}
	if !last {
		return open, recordCut
	}
	return open, recordBad
}

// ends reports whether a field ends before an offset.
func (c *cutter) ends(text []byte, pos int) bool {
	return pos >= len(text) || has(text, pos, c.sep) || has(text, pos, c.end) || c.cr && text[pos] == '\r' && (pos+1 == len(text) || has(text, pos+1, c.end))
}

func has(text []byte, pos int, what string) bool {
	return pos < len(text) && text[pos] == what[0] && (len(what) == 1 || bytes.HasPrefix(text[pos:], []byte(what)))
}

func (c *cutter) put(f field, to int) {
	if f.to = to; f.quoted {
		f.from, f.to = f.from+1, to-1
	}
	c.fields = append(c.fields, f)
}

// blank reports whether the current record is an empty line, which is not a record if records have several columns.
func (c *cutter) blank() bool {
	return c.cr && len(c.fields) == 1 && !c.fields[0].quoted && c.fields[0].from == c.fields[0].to
}

// value returns the decoded value of a field, valid until the next call.
func (c *cutter) value(text []byte, f field) []byte {
	raw := text[f.from:f.to]
	if !f.rewritten {
		return raw
	}
	c.buf = c.buf[:0]
	if !f.quoted || !c.dialect.Doubled {
		c.buf = c.unescape.Append(c.buf, raw)
		return c.buf
	}
	for i := 0; i < len(raw); i++ {
		c.buf = append(c.buf, raw[i])
		if int(raw[i]) == c.quote && i+1 < len(raw) {
			i++
		}
	}
	return c.buf
}

type recordAt struct {
	cutter *cutter
	data   []byte
	fields []field
	start  int
	number int64 // in the file, from 1; headers do not count
}

func (r *recordAt) null(k int) bool {
	f := r.fields[k]
	return r.cutter.dialect.IsNull(r.data[f.from:f.to], f.quoted)
}

// records iterates over the records of the i-th text in a reading, without its header.
func (j *judge) records(r *reading, i int) func(yield func(*recordAt) bool) {
	return func(yield func(*recordAt) bool) {
		t := &j.texts[i]
		at, stop := j.bounds(t)
		c := newCutter(&r.dialect)
		header := r.dialect.Header == dialect.HeaderYes || r.dialect.Header == dialect.HeaderFirst && i == 0
		rec := &recordAt{cutter: c, data: t.data[:stop]}
		for at < stop {
			next, outcome := c.next(rec.data, at, t.whole)
			if outcome != recordWhole {
				return
			}
			start := at
			if at = next; c.blank() && r.scan.width > 1 {
				continue
			}
			if header {
				header = false
				continue
			}
			rec.fields, rec.start = c.fields, start
			rec.number++
			if !yield(rec) {
				return
			}
		}
	}
}
