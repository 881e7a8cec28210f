package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/jsonlines"
	"bulkload/pkg/setting"
)

const (
	firstLines = 1000     // that are looked at for the paths of a file of JSON lines
	mostPaths  = 16 << 10 // that are made columns unless some are named
)

// beginsObject reports whether text begins as JSON lines do: with a brace, after blanks, and then a name, if anything.
func beginsObject(text []byte) bool {
	const blanks = " \t\r\n"
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(bytes.TrimPrefix(text, bom), blanks), []byte{'{'})
	rest = bytes.TrimLeft(rest, blanks)
	return ok && (len(rest) == 0 || rest[0] == '"' || rest[0] == '}')
}

// probeJSON finds the paths in the first lines of a file: in 1000 lines, or 64 KiB, and at least in one.
func (f *inputFile) probeJSON(ctx context.Context, o *Options) error {
	if err := f.decodeAs(o.Charset); err != nil {
		return err
	}
	for size := int64(detectSize); ; size *= 4 {
		src, err := f.openText(ctx, 0, detectSize)
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(src, size))
		if err = errors.Join(err, src.Close()); err != nil {
			return err
		}
		f.dataStart = 0
		if bytes.HasPrefix(data, bom) {
			f.dataStart = int64(len(bom))
		}
		last := int64(len(data)) < size
		lines, err := firstPaths(data[f.dataStart:], last, f.decoder())
		switch {
		case errors.Is(err, jsonlines.ErrWholeFile), err != nil && len(o.Columns) == 0:
			return fmt.Errorf("%s: %w", f.path, err)
		case lines != nil || err != nil || last || size >= int64(o.MaxRecord):
			if f.seen = lines; len(o.Columns) == 0 {
				f.columns = lines
			}
			return nil
		}
	}
}

// firstPaths are the paths in the first lines of a text, in the order in which they come; nil if no line is whole. last says
// that data is all of the text. Lines with faults are left to the reading, unless there is no other, or the first shows
// that the text is not JSON lines.
func firstPaths(data []byte, last bool, set delimited.Charset) (paths []string, err error) {
	var all pathSet
	number := 0
	for len(data) > 0 && number < firstLines {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole && !last {
			break
		}
		data = rest
		if jsonlines.Blank(line) {
			continue
		}
		if set != nil {
			line, _ = set.Append(nil, line) // what is no character is left to the reading
		}
		number++
		members, fault := jsonlines.Names(line)
		if number == 1 && errors.Is(fault, jsonlines.ErrWholeFile) {
			return nil, fault
		}
		if fault != nil {
			if err == nil {
				err = fmt.Errorf("no line of the first %d has paths to take for columns: line %d: %w", firstLines, number, fault)
			}
			continue
		}
		if all.add(members); len(all.paths) > mostPaths {
			return nil, fmt.Errorf("its lines have more than %d different members: name the columns", mostPaths)
		}
	}
	if paths = withoutEscapes(all.leaves()); paths != nil {
		return paths, checkHeader(paths)
	}
	if err == nil && number > 0 {
		err = errors.New("the objects of its first lines are empty")
	}
	return nil, err
}

// pathSet is the union of the members of lines.
type pathSet struct {
	paths []string
	kinds map[string]jsonlines.Kind // Null only where no line has another
}

func (s *pathSet) add(members []jsonlines.Member) {
	if s.kinds == nil {
		s.kinds = map[string]jsonlines.Kind{}
	}
	for _, m := range members {
		kind, ok := s.kinds[m.Path]
		if !ok {
			s.paths = append(s.paths, m.Path)
		}
		if !ok || kind == jsonlines.Null || kind == jsonlines.Object {
			s.kinds[m.Path] = m.Kind
		}
	}
}

// leaves are the paths without those that lead through others: a member that is null or an empty object in one line and has
// members in another is these members; one that is a value and an object is a column as a whole.
func (s *pathSet) leaves() []string {
	whole := map[string]bool{} // it has members, and is one column
	for _, path := range s.paths {
		for outer := range outerPaths(path) {
			switch kind, ok := s.kinds[outer]; {
			case !ok:
			case kind == jsonlines.Null || kind == jsonlines.Object:
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

// sameMember says that a path may be the member that another is: a\.b is that of a.b as well.
func sameMember(a, b string) bool {
	return a == b || jsonlines.Literal(a) == b || jsonlines.Literal(b) == a
}

// withoutEscapes writes a member with dots in its name as that name, unless another path begins like it.
func withoutEscapes(paths []string) []string {
	for i, path := range paths {
		name := strings.ReplaceAll(path, `\.`, ".")
		if jsonlines.Literal(name) != path {
			continue
		}
		first, _, _ := strings.Cut(name, ".")
		if !slices.ContainsFunc(paths, func(other string) bool { return other == first || strings.HasPrefix(other, first+".") }) {
			paths[i] = name
		}
	}
	return paths
}

// outerPaths are the paths of the objects that a path leads through.
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

// fitLines sees that a file of JSON lines can have the columns. Lines say themselves what they have: what is in the schema
// and not in the path is looked for in each.
func (in *Input) fitLines(f *inputFile, first string) error {
	if in.opts.Extra == ExtraFail {
		return setting.Errorf("%s fail is not for JSON lines, which have no columns to compare: leave it out", setting.Extra)
	}
	if err := f.clash(f.seen); err != nil {
		return err
	}
	f.columns = nil
	wanted, found := 0, false
	for _, name := range in.columns {
		if slices.ContainsFunc(f.constants, func(c constant) bool { return c.name == name }) {
			continue
		}
		wanted++
		found = found || slices.ContainsFunc(f.seen, func(path string) bool {
			return sameMember(path, name) || strings.HasPrefix(path, name+".") || strings.HasPrefix(name, path+".")
		})
	}
	if f.seen != nil && wanted > 0 && !found {
		return fmt.Errorf("none of the members in its first lines is a column compared with %s", first)
	}
	return nil
}
