package source

import (
	"context"
	"fmt"

	"bulkload/internal/base/abilities"
	"bulkload/pkg/source/listing"
)

// Types of package listing about files and their paths.
type (
	// FS is the file system of inputs; those of hdfsio implement it.
	FS = listing.FS
	// Resolve finds the file system of an input, and its absolute name there.
	Resolve = listing.Resolve
	// LeftOut counts files of one kind that are ignored since they are not data.
	LeftOut = listing.LeftOut
	// Partition is a column of a file from its path.
	Partition = listing.Partition
	// ChangedError says that the input has changed since it was opened.
	ChangedError = listing.ChangedError
)

// Words of [Options.Partitions].
const (
	PartitionsAuto = listing.PartitionsAuto
	PartitionsOff  = listing.PartitionsOff
)

// ErrSelection is matched by errors about files that are never read, because of their name or kind.
var ErrSelection = listing.ErrSelection

// InputsFrom reads a list of inputs, one a line, like [listing.InputsFrom].
func InputsFrom(ctx context.Context, resolve Resolve, name string) ([]string, error) {
	return listing.InputsFrom(ctx, resolve, name)
}

// Directory is a directory that holds input files.
type Directory struct {
	// Path is the directory in the form in which the input was given: as an input it denotes the same files.
	Path string
	// Name is its absolute name in its file system.
	Name string
	// Files are its files, ordered by name. Their format and compression are not known.
	Files []FileInfo
}

// Directories finds the directories of the inputs' files, like [listing.Directories]. It uses only the options AllowEmpty, Partitions and Where: it
// opens no file.
func Directories(ctx context.Context, resolve Resolve, inputs []string, opts Options) ([]Directory, error) {
	for _, input := range inputs {
		if fsys, _, err := resolve(input); err == nil && IsTable(fsys) {
			return nil, fmt.Errorf("input %s: %w", input, abilities.Refusal(abilities.Input, abilities.SplitBy))
		}
	}
	list, err := listing.Directories(ctx, resolve, inputs, opts.listing())
	if err != nil {
		return nil, err
	}
	dirs := make([]Directory, len(list))
	for i, d := range list {
		dirs[i] = Directory{d.Path, d.Name, described(d.Files)}
	}
	return dirs, nil
}

// List finds the files of inputs, as [Open] does, and opens none. Facts from a file's content, its format and compression, are not known.
func List(ctx context.Context, resolve Resolve, inputs []string, o Options) ([]FileInfo, error) {
	files, _, err := listing.List(ctx, resolve, inputs, o.listing())
	if err != nil {
		return nil, err
	}
	return described(files), nil
}

// described describes the files without opening them.
func described(files []*listing.File) []FileInfo {
	infos := make([]FileInfo, len(files))
	for i, f := range files {
		infos[i] = newFile(*f).describe()
	}
	return infos
}

// Recheck lists all inputs again and checks every file. For a file that has changed, is new or is gone it returns a [*ChangedError].
func (in *Input) Recheck(ctx context.Context) error {
	had := make([]*listing.File, len(in.files))
	for i, f := range in.files {
		had[i] = &f.File
	}
	return listing.Recheck(ctx, in.resolve, in.inputs, *in.opts.listing(), had)
}

// LeftOut lists the ignored files of the inputs' directories and patterns, by kind. The slice is shared: do not change it.
func (in *Input) LeftOut() []LeftOut { return in.left }

// Partitions returns the columns from the names of directories, in the order of their first files.
func (in *Input) Partitions() []string {
	var names []string
	for _, f := range in.files {
		names = union(names, listing.Names(f.Partitions))
	}
	return names
}
