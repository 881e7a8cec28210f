package jsonlines

import (
	"slices"
	"strings"

	"bulkload/pkg/source/span"
)

// A memberPlace identifies a member by its object and its index in the object's members.
type memberPlace struct{ object, member int }

// A literal is a member of the line whose name is a wanted path, dots included. The path's field gets its value if the line does not have the path itself.
type literal struct {
	field int
	place memberPlace
}

// literalField is the field of the first literal; the fields of further literals count down from it.
const literalField = -2

// Literal returns the path of the member of the line whose name is the whole given path, dots included: a\.b for a.b. It
// returns "" for a path of one name, and for a path with backslashes, which has only one meaning.
func Literal(path string) string {
	if !strings.Contains(path, ".") || strings.Contains(path, `\`) {
		return ""
	}
	return escape(path)
}

// A literalSpan is a literal's value.
type literalSpan struct {
	which int
	at    int // in the line
	value span.Span
}

// A throughAt is a member that a path leads into and whose value is neither an object nor null.
type throughAt struct {
	path  string
	child int32
	at    int
}

// set sets a field, or records the value of a literal. The value begins at byte at of the line.
func (p *Parser) set(field int32, at int, value span.Span) {
	if field >= 0 {
		p.fields[field] = value
		return
	}
	p.literals = append(p.literals, literalSpan{int(literalField - field), at, value})
}

// settle sets the fields of literals at the end of a line. A line that has both a literal and the path itself is a fault. So
// is a line in which paths lead into a value that is not an object, unless it has literals for all of these paths.
func (p *Parser) settle() (at int, f fault) {
	for _, l := range p.literals {
		field := p.plan.literals[l.which].field
		if p.met(p.plan.places[field]) == p.line {
			p.path = p.plan.paths[field]
			return l.at, faultBoth
		}
		p.fields[field] = l.value
	}
	for _, t := range p.through {
		if !p.excused(t.child) {
			p.path = t.path
			return t.at, faultThrough
		}
	}
	return 0, 0
}

// excused reports whether the line has literals for all wanted members of an object.
func (p *Parser) excused(object int32) bool {
	for _, m := range p.objects[object].members[:p.objects[object].wanted] {
		if m.child >= 0 && !p.excused(m.child) {
			return false
		}
		if m.field >= 0 && !slices.ContainsFunc(p.literals, func(l literalSpan) bool { return p.plan.literals[l.which].field == int(m.field) }) {
			return false
		}
	}
	return true
}

// met returns the number of the last line that had a member; 0: none.
func (p *Parser) met(m memberPlace) uint64 { return p.objects[m.object].members[m.member].line }

// Met reports whether a line that was parsed so far had the member of a field, with any value.
func (p *Parser) Met(field int) bool {
	return p.met(p.plan.places[field]) > 0 ||
		slices.ContainsFunc(p.plan.literals, func(l literal) bool { return l.field == field && p.met(l.place) > 0 })
}
