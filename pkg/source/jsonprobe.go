package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/jsonlines"
	"bulkload/internal/formats/rejects"
	"bulkload/pkg/setting"
)

const (
	firstLines = 1000     // that are looked at for the paths of a file of JSON lines
	mostPaths  = 16 << 10 // that are made columns unless some are named
)

// jsonFormat is lines of JSON.
type jsonFormat struct{}

func (jsonFormat) facts() facts {
	charset := func(o *Options) string { return o.Charset }
	return facts{Traits: Traits{Named: true, Open: true, Charset: true}, help: "(lines)", endings: []string{".jsonl", ".ndjson", ".json"}, charset: charset,
		looks: func(head []byte, o *Options) bool {
			field, record := o.seenSeps(head)
			return (o.Charset != "" || o.Dialect == nil && !field && !record) && beginsObject(head)
		}}
}

func (jsonFormat) check(o *Options) error { return o.noDialect("has no dialects") }

func (jsonFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	c := &jsonText{textFile: textFile{f}}
	return c, c.probe(ctx, o)
}

func (jsonFormat) text(f *inputFile) textForm { return &jsonText{textFile: textFile{f}} }

func (jsonFormat) marks(*inputFile, Sep, Sep) rejects.Marks { return rejects.Marks{End: "\n"} }

// jsonText is a file of JSON lines.
type jsonText struct {
	textFile
	seen   []string        // the paths in the first lines
	wanted *jsonlines.Plan // which values of a line are
}

func (j *jsonText) splits(ctx context.Context, o *Options, add func(start, end int64, group int)) error {
	places, err := j.f.planLines(ctx, o, lineStart)
	return cutAt(add, places, err)
}

func (j *jsonText) settings(*Options) string {
	if j.f.charset == nil {
		return ""
	}
	return "charset=" + j.f.charset.Name()
}

func (j *jsonText) rejectForm(*Options) *rejects.Form {
	form := &rejects.Form{Version: 1, Format: string(FormatJSON), Columns: j.f.columns}
	if j.f.charset != nil && !j.f.transcoded {
		form.Charset = j.f.charset.Name()
	}
	return form
}

// beginsObject reports whether text begins as JSON lines do: with a brace, after blanks, and then a name, if anything.
func beginsObject(text []byte) bool {
	const blanks = " \t\r\n"
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(bytes.TrimPrefix(text, bom), blanks), []byte{'{'})
	rest = bytes.TrimLeft(rest, blanks)
	return ok && (len(rest) == 0 || rest[0] == '"' || rest[0] == '}')
}

// probe finds the paths in the first lines of a file: in 1000 lines, or 64 KiB, and at least in one.
func (j *jsonText) probe(ctx context.Context, o *Options) error {
	f := j.f
	if err := f.decodeAs(o.Charset); err != nil {
		return err
	}
	for size := int64(detectSize); ; size *= 4 {
		data, err := f.beginning(ctx, size)
		if err != nil {
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
			if j.seen = lines; len(o.Columns) == 0 {
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

// offer sees that the lines can have the columns. Lines say themselves what they have: what is in the schema
// and not in the path is looked for in each.
func (j *jsonText) offer(wanted []string, first string, o *Options) error {
	f := j.f
	if o.Extra == ExtraFail {
		return setting.Errorf("%s fail is not for JSON lines, which have no columns to compare: leave it out", setting.Extra)
	}
	if err := f.clash(j.seen); err != nil {
		return err
	}
	f.columns = nil
	looked, found := 0, false
	for _, name := range wanted {
		if slices.ContainsFunc(f.constants, func(c constant) bool { return c.name == name }) {
			continue
		}
		looked++
		found = found || slices.ContainsFunc(j.seen, func(path string) bool {
			return sameMember(path, name) || strings.HasPrefix(path, name+".") || strings.HasPrefix(name, path+".")
		})
	}
	if j.seen != nil && looked > 0 && !found {
		return fmt.Errorf("none of the members in its first lines is a column compared with %s", first)
	}
	return nil
}

func (j *jsonText) plan([]string, *Options) (err error) {
	j.f.chooseColumns()
	j.f.passOver(j.seen)
	j.wanted, err = jsonlines.Compile(j.f.columns)
	return err
}
