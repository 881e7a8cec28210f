package listing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// List finds the files of inputs: files, directories with all files below them, and patterns; left counts the ignored ones. An input without data
// is an error unless o.AllowEmpty; so is a file that is being written, or that is listed twice.
func List(ctx context.Context, resolve Resolve, inputs []string, o *Options) (files []*File, left []LeftOut, err error) {
	files, _, left, err = list(ctx, resolve, inputs, o)
	return files, left, err
}

// list is [List], and also returns the ignored empty files.
func list(ctx context.Context, resolve Resolve, inputs []string, o *Options) (files, empty []*File, left []LeftOut, err error) {
	if len(inputs) == 0 {
		return nil, nil, nil, errors.New("no input is given")
	}
	where, err := ParseWhere(o.Where)
	if o.Described {
		where = nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	closed := func() error {
		return Each(ctx, slices.Concat(files, empty), func(ctx context.Context, f *File) error {
			if err := f.closed(ctx); err != nil {
				return fmt.Errorf("input %s: %w", inputs[f.Input], err)
			}
			return nil
		})
	}
	once := names{inputs: inputs, files: map[fileKey]*File{}}
	clean := map[any]map[string]bool{}
	for i, input := range inputs {
		fsys, name, err := resolve(input)
		if err != nil {
			return nil, nil, nil, err
		}
		e := expansion{fs: fsys, show: shown(input, name), input: i, where: where, clean: clean[systemKey(fsys)]}
		if e.clean == nil {
			e.clean = map[string]bool{}
			clean[systemKey(fsys)] = e.clean
		}
		if err := e.expand(ctx, path.Clean(name)); err != nil {
			return nil, nil, nil, fmt.Errorf("input %s: %w", input, err)
		}
		files, empty = append(files, e.files...), append(empty, e.empty...)
		if e.found.files == 0 && !o.AllowEmpty {
			if err := closed(); err != nil {
				return nil, nil, nil, err
			}
			return nil, nil, nil, fmt.Errorf("input %s: %w", input, e.found.noData())
		}
		if err := partition(e.files, o, where); err != nil {
			return nil, nil, nil, fmt.Errorf("input %s: %w", input, err)
		}
		for _, f := range e.files {
			if err := once.add(f); err != nil {
				return nil, nil, nil, fmt.Errorf("input %s: %w", input, err)
			}
		}
		left = addLeft(left, e.left)
	}
	return files, empty, left, closed()
}

// shown returns a function that converts a name in the file system to a path in the form of the user's input: with the scheme and host, or
// without the directory that a relative path began in.
func shown(input, name string) func(string) string {
	if name == "/" && strings.Contains(input, "://") {
		input += "/" // a bucket
	}
	if prefix, ok := strings.CutSuffix(input, name); ok {
		return func(name string) string { return prefix + name }
	}
	if prefix, ok := strings.CutSuffix(name, "/"+path.Clean(input)); ok {
		return func(name string) string { return strings.TrimPrefix(name, prefix+"/") }
	}
	return func(name string) string { return name }
}

// expansion is the search for the files of one input.
type expansion struct {
	fs    FS
	show  func(string) string
	input int // its ordinal
	where []Condition
	clean map[string]bool // directories that were checked, and are not tables of another engine
	files []*File
	empty []*File // found, and ignored
	left  []LeftOut
	found found

	seen    map[string]bool // of a pattern: names that were added or ignored
	visited map[visit]bool  // of a pattern
}

func (e *expansion) expand(ctx context.Context, name string) error {
	info, err := e.fs.Stat(ctx, name)
	if err == nil {
		return e.given(ctx, name, info)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENAMETOOLONG) || !strings.ContainsAny(name, wild) {
		return err
	}
	return e.patterns(ctx, name)
}

// given adds a file or directory that was requested by name, unless its partitions exclude it.
func (e *expansion) given(ctx context.Context, name string, info fs.FileInfo) error {
	dir := name
	if !info.IsDir() {
		dir = path.Dir(name)
	}
	if err := e.rejectInsideTable(ctx, dir); err != nil || e.prunedPath(dir) {
		return err
	}
	return e.named(ctx, name, info)
}

// reachedBefore reports whether a pattern has reached a name before.
func (e *expansion) reachedBefore(name string) bool {
	if e.seen == nil {
		return false
	}
	if e.seen[name] {
		return true
	}
	e.seen[name] = true
	return false
}

// named adds a file, or the files below a directory, requested by name.
func (e *expansion) named(ctx context.Context, name string, info fs.FileInfo) error {
	if info.IsDir() {
		return e.dir(ctx, name)
	}
	if err := e.check(name, info); err != nil {
		return err
	}
	if e.reachedBefore(name) {
		return nil
	}
	if e.found.named = true; info.Size() > 0 {
		e.found.files++
	}
	e.files = append(e.files, e.file(name, info))
	return nil
}

// check rejects a file that is being written, or is not a regular file.
func (e *expansion) check(name string, info fs.FileInfo) error {
	if err := CheckName(e.show(name)); err != nil {
		return err
	}
	return checkKind(e.show(name), info.Mode())
}

func (e *expansion) file(name string, info fs.FileInfo) *File {
	return &File{FS: e.fs, Name: name, Path: e.show(name), Input: e.input, Info: info}
}

// dir adds all files below a directory, ordered by name, except those without data: marker and hidden files, output that is being written
// (_temporary), partitions that cannot match, empty files.
func (e *expansion) dir(ctx context.Context, name string) error {
	entries, err := e.list(ctx, name)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		child := path.Join(name, entry.Name())
		if kind := HiddenKind(entry.Name()); kind != "" {
			e.hide(kind, child)
			continue
		}
		if entry, err = e.follow(ctx, child, entry); err != nil {
			return err
		}
		if entry.IsDir() && e.pruned(path.Base(child)) {
			e.leave(kindPruned, child)
			continue
		}
		if err := e.entry(ctx, child, entry); err != nil {
			return err
		}
	}
	return nil
}

// list lists a directory in the order of names, which determines the order of splits, and rejects a table of another engine.
func (e *expansion) list(ctx context.Context, dir string) ([]fs.FileInfo, error) {
	entries, err := e.fs.ReadDir(ctx, dir)
	if err == nil {
		err = e.checkTable(dir, entries)
	}
	return slices.SortedFunc(slices.Values(entries), func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) }), err
}

// entry adds a file or directory that was found in a directory, or that matches a pattern.
func (e *expansion) entry(ctx context.Context, name string, info fs.FileInfo) error {
	if err := e.check(name, info); err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return e.dir(ctx, name)
	case e.reachedBefore(name):
	case info.Size() == 0:
		e.leave(kindEmpty, name)
		e.empty = append(e.empty, e.file(name, info))
	default:
		e.found.files++
		e.files = append(e.files, e.file(name, info))
	}
	return nil
}

// follow returns the target of a symbolic link: the link's own size would be wrong. A link to a directory that contains it would never end.
func (e *expansion) follow(ctx context.Context, name string, info fs.FileInfo) (fs.FileInfo, error) {
	if info.Mode().Type()&fs.ModeSymlink == 0 {
		return info, nil
	}
	to, err := e.fs.Stat(ctx, name)
	if err != nil || !to.IsDir() {
		return to, err
	}
	id := IdentityOf(to)
	for dir := name; id.File != 0 && dir != path.Dir(dir); {
		dir = path.Dir(dir)
		if above, err := e.fs.Stat(ctx, dir); err == nil {
			if a := IdentityOf(above); a.device == id.device && a.File == id.File {
				return nil, Refuse("%s is a link to %s, which contains it: remove it, or name inputs that do not include it", e.show(name), e.show(dir))
			}
		}
	}
	return to, nil
}

// kindPruned and kindEmpty are the kinds of ignored files and directories without a hidden name.
const (
	kindPruned = "partition that where leaves out"
	kindEmpty  = "empty file"
)

// HiddenKind returns the kind of hidden names of Hive, Spark and Hadoop that a name belongs to, as a pattern; "" for a name of data. An
// underscore hides no name with =, which is a partition directory. Hadoop also hides a file that is being copied (._COPYING_); here it is
// an error, since its directory is not complete.
func HiddenKind(name string) string {
	switch {
	case strings.HasPrefix(name, ".hive-staging"):
		return ".hive-staging*"
	case strings.HasPrefix(name, ".spark-staging"):
		return ".spark-staging*"
	case strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".crc"):
		return ".*.crc"
	case strings.HasPrefix(name, "."):
		return ".*"
	case !strings.HasPrefix(name, "_") || strings.Contains(name, "="):
		return ""
	case name == "_SUCCESS" || name == "_temporary":
		return name
	case strings.HasPrefix(name, "_committed_"):
		return "_committed_*"
	case strings.HasPrefix(name, "_started_"):
		return "_started_*"
	}
	return "_*"
}

// LeftOut counts files of one kind that are ignored since they are not data.
type LeftOut struct {
	// Kind is a pattern such as _* or .*.crc, or a description: empty files, partitions.
	Kind  string
	Count int
	// First is the path of one of them.
	First string
}

// leave counts an ignored file or directory.
func (e *expansion) leave(kind, name string) {
	switch kind {
	case kindPruned:
		e.found.pruned++
	case kindEmpty:
		e.found.empty++
	}
	e.left = addLeft(e.left, []LeftOut{{Kind: kind, Count: 1, First: e.show(name)}})
}

// hide ignores a hidden name, once.
func (e *expansion) hide(kind, name string) {
	if e.reachedBefore(name) {
		return
	}
	e.found.hide(name[strings.LastIndexByte(name, '/')+1:])
	e.leave(kind, name)
}

// addLeft adds the ignored files of one input to those of others.
func addLeft(all, more []LeftOut) []LeftOut {
	for _, l := range more {
		if i := slices.IndexFunc(all, func(o LeftOut) bool { return o.Kind == l.Kind }); i >= 0 {
			all[i].Count += l.Count
		} else {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b LeftOut) int { return cmp.Compare(a.Kind, b.Kind) })
	return all
}
