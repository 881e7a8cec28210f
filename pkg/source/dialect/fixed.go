package dialect

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Position is the position of a column in records of fixed columns, in bytes of the file, before the decoding of a character set.
type Position struct {
	Name string `json:"name"`
	From int    `json:"from"`         // its first byte, counted from 1
	To   int    `json:"to,omitempty"` // its last byte; 0: the record's last, wherever that is

	Kind  string `json:"kind,omitempty"`  // Packed or Zoned; empty: text
	Scale int    `json:"scale,omitempty"` // of such a number, digits after its point
}

// Number formats of mainframes.
const (
	Packed = "packed" // COMP-3: two digits in a byte, in the last one a digit and the sign
	Zoned  = "zoned"  // a digit in a byte, in the last one the sign too
)

// MostNumber is the greatest length of such a number in bytes.
const MostNumber = 32

// String returns a position in the form that [ParsePosition] reads.
func (p Position) String() string {
	text := fmt.Sprintf("%s=%d", p.Name, p.From)
	if p.To != p.From {
		text += "-"
	}
	if p.To > p.From {
		text += strconv.Itoa(p.To)
	}
	if p.Kind != "" {
		text += ":" + p.Kind
	}
	if p.Scale > 0 {
		text += fmt.Sprintf("(%d)", p.Scale)
	}
	return text
}

// maxLength is the greatest length of a record of fixed columns.
const maxLength = 1 << 20

// ParsePosition reads name=from-to, name=at for one byte, and name=from- for the rest of a record; after them :packed, :packed(SCALE), :zoned or
// :zoned(SCALE).
func ParsePosition(text string) (p Position, err error) {
	i := strings.LastIndexByte(text, '=')
	name, place := text[:max(i, 0)], text[i+1:]
	place, kind, typed := strings.Cut(place, ":")
	from, to, ranged := strings.Cut(place, "-")
	p.Name = strings.TrimSpace(name)
	number := func(s string) (n int) {
		if n, err = strconv.Atoi(strings.TrimSpace(s)); err == nil && (n < 1 || n > maxLength) {
			err = fmt.Errorf("%d is outside 1..%d", n, maxLength)
		}
		return n
	}
	if p.From = number(from); err == nil {
		switch {
		case !ranged:
			p.To = p.From
		case strings.TrimSpace(to) != "":
			p.To = number(to)
		}
	}
	if typed && err == nil {
		if err = p.setKind(strings.TrimSpace(kind)); err != nil {
			return p, fmt.Errorf("%q is not a number's position: %w", text, err)
		}
	}
	if err != nil || p.Name == "" || p.To != 0 && p.To < p.From {
		return p, fmt.Errorf("%q is not a column position: write name=1-10, name=5 or name=20-, counted in bytes from 1", text)
	}
	return p, nil
}

// setKind parses the number format after a position.
func (p *Position) setKind(text string) error {
	kind, scale, scaled := strings.Cut(text, "(")
	if scaled {
		number, closed := strings.CutSuffix(scale, ")")
		n, err := strconv.Atoi(number)
		if err != nil || !closed || n < 0 || n > 2*MostNumber {
			return fmt.Errorf("its scale is a number of digits up to %d, as in packed(2)", 2*MostNumber)
		}
		p.Scale = n
	}
	if p.Kind = kind; kind != Packed && kind != Zoned {
		return fmt.Errorf("want packed or zoned, with the digits after the point, such as 11-15:packed(2)")
	}
	return nil
}

// Fixed reports whether columns are at fixed positions of a record.
func (d *Dialect) Fixed() bool { return d != nil && d.Name == Fixed }

// Length returns the length in bytes of a record of fixed columns, without the separator after it. least says that a record may be longer:
// its last column extends to its end.
func (d *Dialect) Length() (n int, least bool) {
	for _, p := range d.Positions {
		n = max(n, p.To)
		if p.To == 0 {
			n, least = max(n, p.From-1), true
		}
	}
	return cmp.Or(d.RecordLength, n), least
}

// checkFixed reports settings that are invalid for fixed columns.
func (d *Dialect) checkFixed(bad func(field, format string, args ...any)) {
	if len(d.Positions) == 0 {
		bad("positions", "fixed columns need their positions, such as id=1-10")
		return
	}
	n, least := d.Length()
	seen := map[string]bool{}
	for _, p := range d.Positions {
		switch {
		case p.Name == "" || p.From < 1 || p.To != 0 && p.To < p.From:
			bad("positions", "%s is not a column position", p)
		case seen[p.Name]:
			bad("positions", "column %q stands twice", p.Name)
		case p.Kind != "" && (p.To == 0 || p.To-p.From >= MostNumber):
			bad("positions", "%s is not a number's position, which has 1 to %d bytes", p, MostNumber)
		case p.Kind == Packed && !d.Unseparated && len(d.RecordSep) < maxSep:
			bad("record_sep", "column %s is packed, and may have the bytes of a record's end: give record_sep none, and record_length with what is between records", p.Name)
		case p.To > n, p.To == 0 && p.From > n+1:
			bad("positions", "column %s ends after the record, which has %d bytes", p, n)
		}
		seen[p.Name] = true
	}
	plain := Dialect{Name: d.Name, RecordSep: d.RecordSep, Unseparated: d.Unseparated, Map: Literal, Header: HeaderNo, Trim: d.Trim, Null: d.Null, Charset: d.Charset,
		SkipLines: d.SkipLines, SkipEnd: d.SkipEnd, Positions: d.Positions, RecordLength: d.RecordLength}
	switch {
	case d.RecordLength < 0 || n > maxLength:
		bad("record_length", "%d is outside 1..%d", n, maxLength)
	case least && d.RecordLength > 0:
		bad("record_length", "a column takes the rest of the record, whose length is then not fixed")
	case least && d.Unseparated:
		bad("record_sep", "a column takes the rest of the record, so that records need an end")
	case len(d.RecordSep) > maxSep:
		bad("record_sep", "it has %d bytes: 1 to %d are possible", len(d.RecordSep), maxSep)
	case d.SkipLines < 0:
		bad("skip_lines", "lines to skip are not below 0")
	case d.SkipEnd < 0:
		bad("skip_end", "lines to skip are not below 0")
	case (d.SkipLines > 0 || d.SkipEnd > 0) && (d.Unseparated || d.RecordSep != ""):
		bad("skip_lines", "records that do not end with LF have no lines to skip")
	case !d.Equal(plain):
		bad("dialect", "fixed columns have no separators between them, no header, quotes, escapes, comments or last_column")
	}
}
