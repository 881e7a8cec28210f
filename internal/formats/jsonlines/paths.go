package jsonlines

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	firstLines = 1000     // lines that are read for the paths of a file of JSON lines
	maxPaths   = 16 << 10 // paths that become columns if the user names none
)

// FirstPaths returns the paths in the first lines of a text, in the order of their first occurrence; nil if no line is
// complete. last means that data is the whole text. Lines with faults are skipped here, and reported when the file is
// read. They are an error only if no other line has paths, or if the first line shows that the text is not JSON lines.
// decode converts a line to UTF-8; it is nil if lines are UTF-8.
func FirstPaths(data []byte, last bool, decode func(line []byte) []byte) (paths []string, err error) {
	var all pathSet
	number := 0
	for len(data) > 0 && number < firstLines {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole && !last {
			break
		}
		data = rest
		if Blank(line) {
			continue
		}
		if decode != nil {
			line = decode(line)
		}
		number++
		members, fault := Names(line)
		if number == 1 && errors.Is(fault, ErrWholeFile) {
			return nil, fault
		}
		if fault != nil {
			if err == nil {
				err = fmt.Errorf("no line of the first %d has paths to take for columns: line %d: %w", firstLines, number, fault)
			}
			continue
		}
		if all.add(members); len(all.paths) > maxPaths {
			return nil, fmt.Errorf("its lines have more than %d different members: name the columns", maxPaths)
		}
	}
	if paths = withoutEscapes(all.leaves()); paths != nil {
		return paths, nil
	}
	if err == nil && number > 0 {
		err = errors.New("the objects of its first lines are empty")
	}
	return nil, err
}

// pathSet is the union of the members of lines.
type pathSet struct {
	paths []string
	kinds map[string]Kind // Null only if no line has another kind
}

func (s *pathSet) add(members []Member) {
	if s.kinds == nil {
		s.kinds = map[string]Kind{}
	}
	for _, m := range members {
		kind, ok := s.kinds[m.Path]
		if !ok {
			s.paths = append(s.paths, m.Path)
		}
		if !ok || kind == Null || kind == Object {
			s.kinds[m.Path] = m.Kind
		}
	}
}

// leaves returns the paths without overlaps. A member that is null or an empty object in one line and has members in another is
// replaced by these members; a member that is a value in one line and an object in another is one column.
func (s *pathSet) leaves() []string {
	whole := map[string]bool{} // members that have members; true: such a member is a single column
	for _, path := range s.paths {
		for outer := range outerPaths(path) {
			switch kind, ok := s.kinds[outer]; {
			case !ok:
			case kind == Null || kind == Object:
				whole[outer] = whole[outer] || false
			default:
				whole[outer] = true
			}
		}
	}
	var leaves []string
	for _, path := range s.paths {
		if asColumn, has := whole[path]; has && !asColumn {
			continue
		}
		within := false
		for outer := range outerPaths(path) {
			within = within || whole[outer]
		}
		if !within {
			leaves = append(leaves, path)
		}
	}
	return leaves
}

// SameMember reports whether two paths may name the same member: a\.b may be the same member as a.b.
func SameMember(a, b string) bool {
	return a == b || Literal(a) == b || Literal(b) == a
}

// withoutEscapes replaces the path of a member of the line whose name has dots, such as a\.b, by the name, unless another path begins with the name's
// first part, a.
func withoutEscapes(paths []string) []string {
	own := slices.Clone(paths)
	for i, path := range own {
		name := strings.ReplaceAll(path, `\.`, ".")
		if Literal(name) != path {
			continue
		}
		first, _, _ := strings.Cut(name, ".")
		if !slices.ContainsFunc(own, func(other string) bool { return other == first || strings.HasPrefix(other, first+".") }) {
			paths[i] = name
		}
	}
	return paths
}

// outerPaths returns the paths of the objects that a path leads through.
func outerPaths(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(path); i++ {
			switch path[i] {
			case '\\':
				i++
			case '.':
				if !yield(path[:i]) {
					return
				}
			}
		}
	}
}

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
