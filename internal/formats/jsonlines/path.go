package jsonlines

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Plan lists the wanted members of a line. It is immutable and may be used by any number of goroutines.
type Plan struct {
	paths    []string
	objects  []wantedObject // the line's own object is the first
	places   []memberPlace  // by field
	literals []literal      // members of the line that can replace a path
}

// A wantedObject is an object that paths lead into.
type wantedObject struct {
	path    string // "" for the line's own object
	members []wantedMember
}

// A wantedMember is a member that is wanted, or whose own members are.
type wantedMember struct {
	name  string
	path  string
	field int // index in the row; -1: the member itself is not wanted; literalField and less: a literal
	child int // index in Plan.objects; -1: no path leads into the member
}

// Compile returns a plan for the paths of the wanted members; the package documentation describes their syntax. A row has
// one value for each path, in the order of the paths. A path that is listed twice, or that no line can have, is an error.
// Without paths, the plan only checks lines.
//
// A path without backslashes also means the member of the line whose name is the whole path, dots included: a.b is
// {"a":{"b":1}} or {"a.b":1}, unless a\.b is wanted too.
func Compile(paths []string) (*Plan, error) {
	p := &Plan{paths: slices.Clone(paths), objects: []wantedObject{{}}}
	for field, path := range paths {
		names, err := split(path)
		if err != nil {
			return nil, fmt.Errorf("member %q: %w", path, err)
		}
		at := 0
		for _, name := range names[:len(names)-1] {
			m := p.member(at, name)
			if m.child < 0 {
				m.child = len(p.objects)
				p.objects = append(p.objects, wantedObject{path: m.path})
			}
			at = m.child
		}
		m := p.member(at, names[len(names)-1])
		if m.field >= 0 {
			return nil, fmt.Errorf("member %q: wanted twice", path)
		}
		m.field = field
		p.places = append(p.places, memberPlace{at, p.indexOf(at, m.name)})
	}
	for field, path := range paths {
		if Literal(path) == "" {
			continue
		}
		m := p.member(0, path)
		if m.field >= 0 {
			continue // wanted by its own path
		}
		m.field = literalField - len(p.literals)
		p.literals = append(p.literals, literal{field: field, place: memberPlace{0, p.indexOf(0, path)}})
	}
	return p, nil
}

// indexOf returns the index of a member in the members of an object, -1 if it is missing.
func (p *Plan) indexOf(object int, name string) int {
	return slices.IndexFunc(p.objects[object].members, func(m wantedMember) bool { return m.name == name })
}

// member returns a member of an object, and adds it if necessary. The pointer is valid until the next call.
func (p *Plan) member(object int, name string) *wantedMember {
	o := &p.objects[object]
	i := p.indexOf(object, name)
	if i < 0 {
		i = len(o.members)
		path := escape(name)
		if object > 0 {
			path = o.path + "." + path
		}
		o.members = append(o.members, wantedMember{name: name, path: path, field: -1, child: -1})
	}
	return &o.members[i]
}

// split returns the names of a path. There is always one.
func split(path string) ([]string, error) {
	if !utf8.ValidString(path) {
		return nil, errors.New("invalid UTF-8")
	}
	var names []string
	var name []byte
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case '.':
			names, name = append(names, string(name)), name[:0]
		case '\\':
			i++
			if i == len(path) || path[i] != '.' && path[i] != '\\' {
				return nil, errors.New(`a backslash stands before a dot or a backslash only`)
			}
			name = append(name, path[i])
		default:
			name = append(name, c)
		}
	}
	names = append(names, string(name))
	if len(names) > maxDepth {
		return nil, fmt.Errorf("more than %d names", maxDepth)
	}
	return names, nil
}

// escape returns a name as part of a path.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(name)
}
