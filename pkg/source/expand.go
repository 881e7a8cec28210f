package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// expand finds the files that inputs name: files, directories with all that is below them, and patterns. An input without
// data is an error unless allowEmpty, and so is a file that is being written.
func expand(ctx context.Context, resolve Resolve, inputs []string, allowEmpty bool) ([]*inputFile, error) {
	if len(inputs) == 0 {
		return nil, errors.New("no input is given")
	}
	var files, all []*inputFile
	closed := func() error {
		return each(ctx, all, func(ctx context.Context, f *inputFile) error {
			if err := f.closed(ctx); err != nil {
				return fmt.Errorf("input %s: %w", inputs[f.input], err)
			}
			return nil
		})
	}
	from := make(map[string]string) // the input that each file came from
	for i, input := range inputs {
		fsys, name, err := resolve(input)
		if err != nil {
			return nil, err
		}
		e := expansion{fs: fsys, show: shown(input, name), input: i}
		if err := e.expand(ctx, path.Clean(name)); err != nil {
			return nil, fmt.Errorf("input %s: %w", input, err)
		}
		all = append(append(all, e.files...), e.empty...)
		if e.found.files == 0 && !allowEmpty {
			if err := closed(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("input %s: %w", input, e.found.nothing())
		}
		for _, f := range e.files {
			if other, ok := from[f.path]; ok {
				return nil, fmt.Errorf("input %s: the file %s is there twice (it also comes from %s)", input, f.path, other)
			}
			from[f.path] = input
		}
		files = append(files, e.files...)
	}
	return files, closed()
}

// shown makes, from a name in the file system, a path in the form in which the user gave the input: with the scheme and
// host, or without the directory that a relative path began in.
func shown(input, name string) func(string) string {
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
	files []*inputFile
	empty []*inputFile // found, and left out
	found found
}

func (e *expansion) expand(ctx context.Context, name string) error {
	info, err := e.fs.Stat(ctx, name)
	if err == nil {
		return e.named(ctx, name, info)
	}
	if !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(name, `*?[\`) {
		return err
	}
	base, pattern := globBase(name)
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	found, err := e.glob(ctx, base, strings.Split(pattern, "/"))
	if err != nil {
		return err
	}
	if !found && e.found.hidden == 0 {
		return fmt.Errorf("nothing matches the pattern: %w", fs.ErrNotExist)
	}
	return nil
}

// named takes a file, or what is below a directory, that was asked for by name.
func (e *expansion) named(ctx context.Context, name string, info fs.FileInfo) error {
	if info.IsDir() {
		return e.dir(ctx, name)
	}
	if err := e.check(name, info); err != nil {
		return err
	}
	if e.found.named = true; info.Size() > 0 {
		e.found.files++
	}
	e.files = append(e.files, e.file(name, info))
	return nil
}

// check refuses a file that is being written, or is none.
func (e *expansion) check(name string, info fs.FileInfo) error {
	if err := CheckName(e.show(name)); err != nil {
		return err
	}
	return CheckKind(e.show(name), info.Mode())
}

func (e *expansion) file(name string, info fs.FileInfo) *inputFile {
	return &inputFile{fs: e.fs, name: name, path: e.show(name), input: e.input, info: info}
}

// dir takes all files below a directory, ordered by name, but for what is no data: marker and hidden files, output that
// is being written (_temporary), empty files.
func (e *expansion) dir(ctx context.Context, name string) error {
	entries, err := e.list(ctx, name)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		child := path.Join(name, entry.Name())
		if entry.IsDir() {
			if err := CheckPartition(e.show(child)); err != nil {
				return err
			}
		}
		if hidden(entry.Name()) {
			e.found.hide(entry.Name())
			continue
		}
		if entry, err = e.follow(ctx, child, entry); err != nil {
			return err
		}
		if err := e.entry(ctx, child, entry); err != nil {
			return err
		}
	}
	return nil
}

// list lists a directory in the order of names, which the order of splits rests on.
func (e *expansion) list(ctx context.Context, dir string) ([]fs.FileInfo, error) {
	entries, err := e.fs.ReadDir(ctx, dir)
	return slices.SortedFunc(slices.Values(entries), func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) }), err
}

// entry takes a file or directory that was found in a directory, or that matches a pattern.
func (e *expansion) entry(ctx context.Context, name string, info fs.FileInfo) error {
	if err := e.check(name, info); err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return e.dir(ctx, name)
	case info.Size() == 0:
		e.found.empty++
		e.empty = append(e.empty, e.file(name, info))
	default:
		e.found.files++
		e.files = append(e.files, e.file(name, info))
	}
	return nil
}

// follow gives what a symbolic link leads to: its own size would be that of the link.
func (e *expansion) follow(ctx context.Context, name string, info fs.FileInfo) (fs.FileInfo, error) {
	if info.Mode().Type()&fs.ModeSymlink == 0 {
		return info, nil
	}
	return e.fs.Stat(ctx, name)
}

func hidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }

// globBase cuts a pattern before its first element that has a wildcard.
func globBase(name string) (base, pattern string) {
	i := strings.IndexAny(name, `*?[\`)
	cut := strings.LastIndexByte(name[:i], '/')
	if cut <= 0 {
		return "/", strings.TrimPrefix(name, "/")
	}
	return name[:cut], name[cut+1:]
}

// glob takes what matches the elements of a pattern, level by level, ordered by name. Hidden names match only an element
// that begins as they do.
func (e *expansion) glob(ctx context.Context, dir string, elements []string) (bool, error) {
	entries, err := e.list(ctx, dir)
	if err != nil {
		return false, err
	}
	found := false
	for _, entry := range entries {
		name := entry.Name()
		if ok, err := path.Match(elements[0], name); err != nil {
			return false, fmt.Errorf("pattern: %w", err)
		} else if !ok {
			continue
		}
		child := path.Join(dir, name)
		if hidden(name) && !hidden(elements[0]) {
			if len(elements) == 1 {
				e.found.hide(name)
			}
			continue
		}
		if entry, err = e.follow(ctx, child, entry); err != nil {
			return false, err
		}
		if entry.IsDir() && strings.ContainsAny(elements[0], "*?[") {
			if err := CheckPartition(e.show(child)); err != nil {
				return false, err
			}
		}
		switch {
		case len(elements) == 1:
			found = true
			err = e.entry(ctx, child, entry)
		case entry.IsDir():
			var below bool
			below, err = e.glob(ctx, child, elements[1:])
			found = found || below
		}
		if err != nil {
			return false, err
		}
	}
	return found, nil
}
