// Package fixedwidth splits text with fixed columns, which have the same byte positions in every record, such as tables unloaded from mainframes.
// [Records] finds a record's values. It converts packed and zoned decimals to text.
package fixedwidth

import (
	"bytes"
	"cmp"
	"fmt"

	"bulkload/internal/formats/charset"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
	"bulkload/pkg/source/span"
)

// Records finds records and their values in text of a dialect.
type Records struct {
	dialect *dialect.Dialect
	set     *charset.Charset // nil: bytes are not decoded
	length  int
	least   bool   // a record may be longer
	end     []byte // the separator of records
}

// New returns the Records of a dialect with positions. Values are decoded from the character set, unless it is nil.
func New(d *dialect.Dialect, set *charset.Charset) *Records {
	t := &Records{dialect: d, set: set, end: End(d)}
	t.length, t.least = d.Length()
	return t
}

// End returns the separator of a dialect's records.
func End(d *dialect.Dialect) []byte { return []byte(cmp.Or(d.RecordSep, "\n")) }

// Next returns the offset of the record after the one that begins at start. It is beyond the end of text if text does not have the whole record.
func (t *Records) Next(text []byte, start int) int {
	if t.dialect.Unseparated {
		return start + t.length
	}
	i := bytes.Index(text[start:], t.end)
	if i < 0 {
		return len(text) + 1
	}
	return start + i + len(t.end)
}

// TrimEnd returns a record without its separator. A CR before a line end belongs to the line end, whatever the length of the record: a record that is
// one byte short is not completed by it.
func (t *Records) TrimEnd(record []byte) []byte {
	if t.dialect.Unseparated {
		return record
	}
	record = bytes.TrimSuffix(record, t.end)
	if t.dialect.RecordSep == "" {
		record = bytes.TrimSuffix(record, []byte{'\r'})
	}
	return record
}

// Values sets the spans of the values of the record buf[start:end]. Values that must be decoded are appended to buf[:used]; others stay in the record.
// It returns the buffer and its new used size. If the record is invalid, reason says why, and column is the column of the invalid bytes, or -1.
func (t *Records) Values(buf []byte, used, start, end int, fields []span.Span) (grown []byte, more, column int, reason string) {
	if have := end - start; have < t.length || have > t.length && !t.least {
		return buf, used, -1, fmt.Sprintf("it has %s, and records have %d", setting.Count(have, "byte"), t.length)
	}
	trimmed := t.dialect.Trim != dialect.TrimNone
	for i, p := range t.dialect.Positions {
		from, to := start+p.From-1, start+p.To
		if p.To == 0 {
			to = end
		}
		var out []byte
		if p.Kind != "" {
			ok := false
			if out, ok = appendDecimal(buf[:used], buf[from:to], p); !ok {
				return buf, used, i, fmt.Sprintf("%s that are not a %s decimal", setting.Count(to-from, "byte"), p.Kind)
			}
		} else if t.set != nil {
			bad := 0
			if out, bad = t.set.Append(buf[:used], buf[from:to]); bad >= 0 {
				return buf, used, i, "bytes that are not a character of the character set"
			}
		}
		if out != nil {
			buf, from, to, used = out[:cap(out)], used, len(out), len(out)
		}
		for trimmed && t.dialect.Trim != dialect.TrimLeft && to > from && buf[to-1] == ' ' {
			to--
		}
		for trimmed && t.dialect.Trim != dialect.TrimRight && to > from && buf[from] == ' ' {
			from++
		}
		fields[i] = span.Span{Off: uint32(from), Len: uint32(to - from)}
		if t.dialect.IsNull(buf[from:to], false) {
			fields[i] = span.Null()
		}
	}
	return buf, used, -1, ""
}
