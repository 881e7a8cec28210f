package jsonlines

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"bulkload/pkg/source/span"
)

// A Parser parses lines. It learns the order of their members, which only makes it faster. Only one goroutine may use it.
type Parser struct {
	plan    *Plan
	objects []*object // parallel to the plan's
	columns int
	scratch []byte // a name whose escapes are undone
	line    uint64 // counts calls of Parse

	// State of the current line.
	buf    []byte // values with escapes are appended to it
	start  int
	fields []span.Span
	path   string // of the member with the fault

	literals []literalSpan // literals that the line has
	through  []throughAt   // values that paths lead into and that are not objects
}

// NewParser returns a parser.
func (p *Plan) NewParser() *Parser {
	r := &Parser{plan: p, columns: len(p.paths)}
	for _, w := range p.objects {
		r.objects = append(r.objects, newObject(w))
	}
	return r
}

// Parse parses the line buf[start:end), which has no LF, and sets fields, one for each path of the plan. Their spans refer
// to grown: buf with the unescaped text of strings with escapes appended. The appended text is shorter than the line. The
// lengths of buf and the line must be less than 4 GiB together.
//
// A fault of the line is an [*Error]. grown then has the length of buf, and the fields are invalid.
func (p *Parser) Parse(buf []byte, start, end int, fields []span.Span) (grown []byte, err error) {
	switch {
	case start < 0 || start > end || end > len(buf):
		return buf, fmt.Errorf("jsonlines: line [%d:%d) of a buffer of %d bytes", start, end, len(buf))
	case len(fields) != p.columns:
		return buf, fmt.Errorf("jsonlines: %d fields for a plan of %d", len(fields), p.columns)
	case uint64(len(buf))+uint64(end-start) >= math.MaxUint32:
		return buf, errors.New("jsonlines: a buffer of more than 4 GiB")
	}
	for i := range fields {
		fields[i] = span.Null()
	}
	p.line++
	p.buf, p.start, p.fields, p.path = buf, start, fields, ""
	p.literals, p.through = p.literals[:0], p.through[:0]
	at, f := p.parseLine(buf[start:end])
	if f == 0 && len(p.literals)+len(p.through) > 0 {
		at, f = p.settle()
	}
	grown = p.buf
	p.buf, p.fields = nil, nil
	if f != 0 {
		return grown[:len(buf)], f.at(at, p.path)
	}
	return grown, nil
}

// Blank reports whether a line has only blanks. A blank line is neither a record nor a fault.
func Blank(line []byte) bool { return skipBlanks(line, 0) == len(line) }

func (p *Parser) parseLine(b []byte) (next int, f fault) {
	i := skipBlanks(b, 0)
	if i >= len(b) || b[i] != '{' {
		return i, notObject(b, i)
	}
	if i, f = p.parseObject(b, i, 0, 1); f != 0 {
		if f == faultEnd && Blank(b[skipBlanks(b, 0)+1:]) {
			f = faultWholeFile
		}
		return i, f
	}
	if i = skipBlanks(b, i); i < len(b) {
		return i, faultBehind
	}
	return i, 0
}

// notObject returns the fault of a line that is not an object. i is the position of its first byte that is not a blank.
func notObject(b []byte, i int) fault {
	if i >= len(b) {
		return faultBlank
	}
	switch c := b[i]; {
	case c == '[':
		if i = skipBlanks(b, i+1); i >= len(b) || b[i] == '{' {
			return faultWholeFile
		}
		return faultArray
	case len(b)-i >= 3 && string(b[i:i+3]) == "\ufeff":
		return faultMark
	}
	if i, _, f := scanValue(b, i, 0); f == 0 && Blank(b[i:]) {
		return faultScalar
	}
	return faultNoObject
}

// scanValue reads any value. Values within an object or an array are only checked for faults.
func scanValue(b []byte, i, depth int) (next int, escaped bool, f fault) {
	if i >= len(b) {
		return i, false, faultEnd
	}
	switch b[i] {
	case '"':
		return scanString(b, i+1)
	case '{', '[':
		next, f = skipNested(b, i, depth)
	default:
		next, f = scanScalar(b, i)
	}
	return next, false, f
}

// parseObject reads an object that paths lead into; b[i] is its brace. depth is its nesting depth, itself included. It is
// at most maxDepth, because paths do not have more names.
func (p *Parser) parseObject(b []byte, i, which, depth int) (next int, f fault) {
	o := p.objects[which]
	o.begin()
	i = skipBlanks(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, 0
	}
	last, count := int32(-1), 0
	for {
		var k int32
		nameAt := i
		if i, k, f = p.parseName(o, b, i, last); f != 0 {
			return i, f
		}
		m := &o.members[k]
		if m.line == p.line {
			p.path = m.path
			return nameAt, faultTwice
		}
		m.line = p.line
		last = k
		if count++; count > maxMembers {
			return nameAt, faultMany
		}
		if i < len(b) && b[i] == ':' {
			i++
		} else if i, f = scanColon(b, i); f != 0 {
			return i, f
		}
		if i < len(b) && b[i] <= ' ' {
			i = skipBlanks(b, i)
		}
		if i, f = p.parseMember(m, b, i, depth); f != 0 {
			p.path = cmp.Or(p.path, m.path)
			return i, f
		}
		if i < len(b) && b[i] <= ' ' {
			i = skipBlanks(b, i)
		}
		if i >= len(b) {
			return i, faultEnd
		}
		switch b[i] {
		case ',':
			i++
			if i < len(b) && b[i] <= ' ' {
				i = skipBlanks(b, i)
			}
			if i < len(b) && b[i] == '}' {
				return i, faultLastComma
			}
		case '}':
			return i + 1, 0
		default:
			return i, faultComma
		}
	}
}

// parseName reads a member's name and returns its index in the object's members. last is the previous member, or -1.
func (p *Parser) parseName(o *object, b []byte, i int, last int32) (next int, k int32, f fault) {
	hint := &o.first
	if last >= 0 {
		hint = &o.members[last].next
	}
	k = *hint
	if o.at(k, b[i:]) {
		return i + len(o.members[k].quoted), k, 0
	}
	if k >= 0 { // this line may omit member k, as some writers omit nulls
		if k = o.members[k].next; o.at(k, b[i:]) {
			return i + len(o.members[k].quoted), k, 0
		}
	}
	if i >= len(b) {
		return i, 0, faultEnd
	}
	if b[i] != '"' {
		return i, 0, faultName
	}
	next, escaped, f := scanString(b, i+1)
	if f != 0 {
		return next, 0, f
	}
	name := b[i+1 : next-1]
	if escaped {
		p.scratch = appendUnescaped(p.scratch[:0], name)
		name = p.scratch
	}
	if k = o.find(name); k < 0 {
		k = o.learn(name, !escaped)
		if last >= 0 {
			hint = &o.members[last].next // members may have moved
		}
	}
	*hint = k
	return next, k, 0
}

// parseMember reads a member's value, and sets its field if it is wanted.
func (p *Parser) parseMember(m *member, b []byte, i, depth int) (next int, f fault) {
	if m.child >= 0 && i < len(b) && b[i] != 'n' {
		if b[i] != '{' {
			p.through = append(p.through, throughAt{m.path, m.child, i})
			return p.parseValue(m.field, b, i, depth)
		}
		field := m.field
		if next, f = p.parseObject(b, i, int(m.child), depth+1); f == 0 && field != -1 {
			p.set(field, i, p.place(i, next))
		}
		return next, f
	}
	return p.parseValue(m.field, b, i, depth)
}

// parseValue reads a value, and sets a field if it is wanted.
func (p *Parser) parseValue(field int32, b []byte, i, depth int) (next int, f fault) {
	next, escaped, f := scanValue(b, i, depth)
	if f != 0 || field == -1 {
		return next, f
	}
	value := span.Null()
	switch {
	case escaped:
		off := len(p.buf)
		p.buf = appendUnescaped(p.buf, b[i+1:next-1])
		value = span.Span{Off: uint32(off), Len: uint32(len(p.buf) - off)}
	case b[i] == '"':
		value = p.place(i+1, next-1)
	case b[i] != 'n':
		value = p.place(i, next)
	}
	p.set(field, i, value)
	return next, 0
}

// place returns a part of the line as a span.
func (p *Parser) place(from, to int) span.Span {
	return span.Span{Off: uint32(p.start + from), Len: uint32(to - from)}
}
