package dialects

import (
	"bytes"
	"slices"
	"strings"

	"bulkload/pkg/source/dialect"
)

// A plainReader reads text byte by byte, as docs/sources.md describes dialects. It uses the settings of a dialect and nothing else of the
// program.
type plainReader struct {
	d    *dialect.Dialect
	text []byte
	end  string // of a record
	cr   bool   // a CR before the line feed belongs to it

	cols    int
	rest    bool // the value is the last, and includes separators
	nothing bool // the last value of the last record is missing
	ended   int  // length in bytes of its end
}

// A plainText is the result of a plainReader.
type plainText struct {
	rows     [][]value
	bad      []plainBad
	unclosed bool // a quote is not closed, and everything after it is lost
}

// A plainBad is a bad record: its position, and its text without its end.
type plainBad struct {
	at   int
	text []byte
}

// plainRead reads a text with the given number of columns that begins with the header, if it has one.
func plainRead(d *dialect.Dialect, text []byte, header bool, cols int) (all plainText) {
	p := plainReader{d: d, text: text, cols: cols, end: d.RecordSep}
	if p.end == "" {
		p.end, p.cr = "\n", true
	}
	at := 0
	for range d.SkipLines {
		for text[at] != '\n' {
			at++
		}
		at++
	}
	for range d.SkipEnd {
		n := len(p.text) - 1
		for n > 0 && p.text[n-1] != '\n' {
			n--
		}
		p.text = p.text[:n]
	}
	for at < len(p.text) {
		if d.Comment != "" && p.has(at, d.Comment) {
			for at < len(p.text) && !p.has(at, p.end) {
				at++
			}
			at = min(at+len(p.end), len(p.text))
			continue
		}
		row, next, fault, unclosed := p.record(at)
		switch {
		case unclosed:
			all.unclosed = true
			return all
		case fault >= 0:
			to := p.behindFault(at, fault)
			next = min(to+len(p.end), len(p.text))
			if p.cr && text[to-1] == '\r' && !p.escaped(at, to-1) {
				to--
			}
			all.bad = append(all.bad, plainBad{at, text[at:to]})
		case p.isNone(at, next, row, cols):
		case header:
			header = false
		case !p.whole(&row), p.isStray(at, next):
			all.bad = append(all.bad, plainBad{at, text[at : next-p.ended]})
		default:
			all.rows = append(all.rows, row)
		}
		at = next
	}
	return all
}

// whole reports whether a record has the right number of columns. A separator at the end of the record begins one more, empty value, which
// is removed.
func (p *plainReader) whole(row *[]value) bool {
	if p.d.Last == dialect.LastSeparated {
		last := len(*row) - 1
		if last == 0 || !p.nothing {
			return false
		}
		*row = (*row)[:last]
	}
	return len(*row) == p.cols
}

// has reports whether the text has a string at a position.
func (p *plainReader) has(at int, text string) bool {
	return at+len(text) <= len(p.text) && string(p.text[at:at+len(text)]) == text
}

// ends returns the number of bytes of the record end at a position, 0 for none.
func (p *plainReader) ends(at int) int {
	switch {
	case p.has(at, p.end):
		return len(p.end)
	case p.cr && p.has(at, "\r\n"):
		return 2
	}
	return 0
}

// isNone reports whether a line is not a record: an empty one in text of several columns whose lines end with LF or
// CR LF, and PostgreSQL's last line.
func (p *plainReader) isNone(from, next int, row []value, cols int) bool {
	line := string(p.text[from:next])
	if p.cr && cols > 1 && (line == "\n" || line == "\r\n") {
		return true
	}
	return p.d.Map == dialect.Postgres && next == len(p.text) && (line == `\.` || line == `\.`+p.end || p.cr && line == "\\.\r\n")
}

// isStray reports whether a record ends in a way that its dialect does not allow: with CR before the end of a line, which docs/sources.md
// calls CR CR LF or CR LF, or with 0x1A, with which DOS ends a text.
func (p *plainReader) isStray(from, next int) bool {
	to := next - p.ended
	if to == from {
		return false
	}
	last := p.text[to-1]
	switch own := p.d.Map == dialect.Postgres || p.d.Map == dialect.JQ || p.d.Map == dialect.HiveCRLF; {
	case p.escaped(from, to-1):
		return false
	case last == '\r':
		return p.d.RecordSep == "" || p.d.RecordSep == "\n" && p.d.Escape != "" && own
	}
	alone := len(bytes.Trim(p.text[from:to], "\x1a")) == 0
	return last == 0x1a && next == len(p.text) && (p.ended == 0 || alone) && !strings.Contains(p.d.FieldSep+p.d.RecordSep, "\x1a")
}

// record reads the record at a position. next is the position of the next one; fault is the position of an invalid
// byte, -1 for none.
func (p *plainReader) record(at int) (row []value, next, fault int, unclosed bool) {
	for {
		p.rest = p.d.Last == dialect.LastRest && len(row) == p.cols-1
		v, to, fault, unclosed := p.field(at)
		if fault >= 0 || unclosed {
			return nil, 0, fault, unclosed
		}
		row, p.nothing = append(row, v), to == at
		switch {
		case to == len(p.text):
			p.ended = 0
			return row, to, -1, false
		case p.separated(to):
			at = to + len(p.d.FieldSep)
		default:
			p.ended = p.ends(to)
			return row, to + p.ended, -1, false
		}
	}
}

// separated reports whether a separator precedes a position and ends the value before it.
func (p *plainReader) separated(at int) bool { return !p.rest && p.has(at, p.d.FieldSep) }

func (p *plainReader) blank(at int) bool {
	return p.d.Trim != dialect.TrimNone && at < len(p.text) && (p.text[at] == ' ' || p.text[at] == '\t') && !p.separated(at)
}

func is(setting string, c byte) bool { return setting != "" && setting[0] == c }

// field reads the value at a position, which ends before to.
func (p *plainReader) field(from int) (v value, to, fault int, unclosed bool) {
	open := from
	for p.blank(open) {
		open++
	}
	if open < len(p.text) && is(p.d.Quote, p.text[open]) {
		return p.quoted(open)
	}
	to = from
	for to < len(p.text) && !p.separated(to) && p.ends(to) == 0 {
		switch c := p.text[to]; {
		case is(p.d.Quote, c) && !p.d.Lenient:
			return v, 0, to, false
		case is(p.d.Escape, c) && !p.d.QuotedOnly && to+1 == len(p.text):
			return v, 0, to, false
		case is(p.d.Escape, c) && !p.d.QuotedOnly:
			to++
		}
		to++
	}
	raw := p.text[from:to]
	for p.d.Trim != dialect.TrimNone && p.d.Trim != dialect.TrimRight && len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\t') {
		raw = raw[1:]
	}
	for p.d.Trim != dialect.TrimNone && p.d.Trim != dialect.TrimLeft && len(raw) > 0 && (raw[len(raw)-1] == ' ' || raw[len(raw)-1] == '\t') {
		raw = raw[:len(raw)-1]
	}
	return p.value(raw, !p.d.QuotedOnly, false), to, -1, false
}

// quoted reads a value whose quote opens at a position.
func (p *plainReader) quoted(open int) (v value, to, fault int, unclosed bool) {
	at := open + 1
	for {
		switch {
		case at >= len(p.text):
			return v, 0, -1, true
		case is(p.d.Escape, p.text[at]):
			at += 2
			continue
		case !is(p.d.Quote, p.text[at]):
			at++
			continue
		case p.d.Doubled && at+1 < len(p.text) && is(p.d.Quote, p.text[at+1]):
			at += 2
			continue
		case p.d.Lenient && at+1 < len(p.text) && !p.separated(at+1) && p.ends(at+1) == 0:
			at++
			continue
		}
		break
	}
	v = p.value(p.text[open+1:at], true, true)
	for to = at + 1; p.blank(to); {
		to++
	}
	if to < len(p.text) && !p.separated(to) && p.ends(to) == 0 {
		return v, 0, at + 1, false
	}
	return v, to, -1, false
}

// value returns the value of a text between separators.
func (p *plainReader) value(raw []byte, escapes, quoted bool) value {
	if (!quoted || p.d.NullQuoted) && slices.Contains(p.d.Null, string(raw)) {
		return value{null: true}
	}
	v := value{text: []byte{}}
	for i := 0; i < len(raw); i++ {
		switch {
		case escapes && is(p.d.Escape, raw[i]) && i+1 < len(raw):
			b, n := meaning(p.d.Map, raw[i+1:])
			v.text = append(v.text, b)
			i += n
		case quoted && p.d.Doubled && is(p.d.Quote, raw[i]):
			v.text = append(v.text, raw[i])
			i++
		default:
			v.text = append(v.text, raw[i])
		}
	}
	return v
}

// meanings are the letters after an escape and their bytes, in pairs.
var meanings = map[dialect.Map]string{
	dialect.MySQL: "0\x00b\x08n\x0ar\x0dt\x09Z\x1a", dialect.MySQLBatch: "0\x00n\x0at\x09", dialect.Postgres: "b\x08f\x0cn\x0ar\x0dt\x09v\x0b",
	dialect.HiveCRLF: "n\x0ar\x0d", dialect.JQ: "n\x0ar\x0dt\x09",
}

// meaning returns the byte that the bytes after an escape stand for, and the number of these.
func meaning(m dialect.Map, text []byte) (byte, int) {
	if m == dialect.Postgres {
		v, n := 0, 0
		for n < min(3, len(text)) && '0' <= text[n] && text[n] <= '7' {
			v, n = v*8+int(text[n]-'0'), n+1
		}
		if n > 0 {
			return byte(v), n
		}
		digits := "0123456789abcdef0123456789ABCDEF"
		for n = 1; text[0] == 'x' && n < min(3, len(text)) && slices.Contains([]byte(digits), text[n]); n++ {
			v = v*16 + slices.Index([]byte(digits), text[n])%16
		}
		if n > 1 {
			return byte(v), n
		}
	}
	for letters := meanings[m]; letters != ""; letters = letters[2:] {
		if letters[0] == text[0] {
			return letters[1], 1
		}
	}
	return text[0], 1
}

// behindFault returns the end of a bad record: the end of the line of the fault.
func (p *plainReader) behindFault(from, at int) int {
	for ; at < len(p.text); at++ {
		switch {
		case !p.has(at, p.end):
		case p.escaped(from, at):
			at += len(p.end) - 1
		default:
			return at
		}
	}
	return len(p.text)
}

// escaped reports whether an odd number of escapes precedes a position in a record.
func (p *plainReader) escaped(from, at int) bool {
	n := 0
	for at-n > from && !p.d.QuotedOnly && is(p.d.Escape, p.text[at-n-1]) {
		n++
	}
	return n%2 == 1
}
