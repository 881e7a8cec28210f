package jsonlines

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
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
