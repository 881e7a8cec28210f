package listing

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// Directory is a directory that holds input files.
type Directory struct {
	// Path is the directory in the form in which the input was given: as an input it denotes the same files.
	Path string
	// Name is its absolute name in its file system.
	Name string
	// Files are its files, ordered by name.
	Files []*File
}

// Directories finds the directories of the inputs' files, ordered by name. Inputs are directories, or patterns that match directories. A
// directory with both files and subdirectories with files is an error: as an input it would include them all. A directory has no Files if
// all of its files are empty, and no directory with files is below it. An input without data is an error unless o.AllowEmpty. No file is
// opened.
func Directories(ctx context.Context, resolve Resolve, inputs []string, o *Options) ([]Directory, error) {
	trimmed := make([]string, len(inputs))
	for i, input := range inputs {
		if trimmed[i] = strings.TrimRight(input, "/"); trimmed[i] == "" || strings.HasSuffix(trimmed[i], ":") {
			return nil, fmt.Errorf("input %s: name a directory below the root", input)
		}
	}
	files, empty, _, err := list(ctx, resolve, trimmed, o)
	if err != nil {
		return nil, err
	}
	where, err := ParseWhere(o.Where)
	if err != nil {
		return nil, err
	}
	byPath := map[string]*Directory{}
	var dirs []*Directory
	directory := func(f *File) (*Directory, error) {
		p := parent(f.Path)
		d := byPath[p]
		if d == nil {
			d = &Directory{Path: p, Name: path.Dir(f.Name)}
			byPath[p] = d
			dirs = append(dirs, d)
			return d, d.meansItself(ctx, resolve)
		}
		return d, nil
	}
	for _, f := range files {
		d, err := directory(f)
		if err != nil {
			return nil, err
		}
		d.Files = append(d.Files, f)
	}
	for _, f := range empty {
		p := parent(f.Path)
		if slices.ContainsFunc(dirs, func(d *Directory) bool { return within(d.Path, p) || within(p, d.Path) }) {
			continue // an empty file among others, such as the mark of a complete export
		}
		if _, err := directory(f); err != nil {
			return nil, err
		}
	}
	parts := make([]Directory, 0, len(dirs))
	for _, d := range dirs {
		if err := d.checkFiles(ctx, resolve, where); err != nil {
			return nil, err
		}
		slices.SortFunc(d.Files, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
		parts = append(parts, *d)
	}
	slices.SortFunc(parts, func(a, b Directory) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path))
	})
	return parts, nil
}

// parent returns the directory of a path. Unlike path.Dir it keeps the two slashes after a scheme.
func parent(p string) string {
	slash := strings.LastIndexByte(p, '/')
	if slash < 0 {
		return "."
	}
	return p[:slash]
}

// within reports whether a path is a directory or below it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// meansItself checks that the path, as an input, denotes this directory.
func (d *Directory) meansItself(ctx context.Context, resolve Resolve) error {
	fsys, name, err := resolve(d.Path)
	if err != nil {
		return err
	}
	if path.Clean(name) == d.Name {
		var info fs.FileInfo
		if info, err = fsys.Stat(ctx, d.Name); err == nil && info.IsDir() {
			return nil
		}
	}
	return fmt.Errorf("the directory %s cannot be named by the input that leads to it: write that without dots, double slashes and links (%w)", d.Path, cmp.Or(err, fs.ErrNotExist))
}

// checkFiles checks that the directory, as an input, denotes exactly the files that were found in it. It does not check again whether they are
// being written.
func (d *Directory) checkFiles(ctx context.Context, resolve Resolve, where []Condition) error {
	fsys, name, err := resolve(d.Path)
	if err != nil {
		return err
	}
	e := expansion{fs: fsys, show: shown(d.Path, name), where: where}
	if err := e.dir(ctx, d.Name); err != nil {
		return fmt.Errorf("input %s: %w", d.Path, err)
	}
	for _, f := range e.files {
		if path.Dir(f.Name) != d.Name && len(d.Files) > 0 {
			return fmt.Errorf("the directory %s holds files, and so does %s below it: a part is one directory, so move its files, such as %s, into one of their own",
				d.Path, path.Dir(f.Path), path.Base(d.Files[0].Name))
		}
	}
	if len(e.files) != len(d.Files) {
		return fmt.Errorf("the inputs name %d of the %s of the directory %s: a part is a whole directory, so name directories", len(d.Files), setting.Count(len(e.files), "file"), d.Path)
	}
	return nil
}
