// Package listing finds the files that inputs name: files, directories with all that is below them, and patterns. [List] is where to begin. It refuses what is
// no input, such as a file that is being written or a table of another engine, leaves out what holds no data, and reads the columns that directories
// name=value give. A [File] is opened as long as it is what was listed.
package listing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// FS is the file system of inputs; those of hdfsio implement it. Names are absolute and have slashes. Its methods are
// called by several goroutines. Errors about names that do not exist match [fs.ErrNotExist].
type FS interface {
	// Open opens a file, which must also be an [io.ReaderAt]. The context bounds the life of the file.
	Open(ctx context.Context, name string) (fs.File, error)
	// Stat describes a file or a directory; of a link, what it leads to.
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	// ReadDir lists a directory, in any order.
	ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error)
}

// Resolve finds the file system of an input, and its absolute name there. Patterns go through it too, so it must leave
// *, ?, [, ], {, } and \ as they are.
type Resolve func(path string) (fsys FS, name string, err error)

// Options say which files are taken, and what the directories of their paths mean.
type Options struct {
	// Partitions determines whether directories name=value are columns: with [PartitionsAuto] alone, or none, each is. With [PartitionsOff] alone none is.
	// Otherwise the last ones of a path have these names.
	Partitions []string
	// Where chooses partitions, such as dt>=2026-11-01; all conditions must hold.
	Where []string
	// AllowEmpty accepts inputs without data.
	AllowEmpty bool
	// Described says that directories mean nothing: the records of reject files were elsewhere.
	Described bool
}

// File is a file as it was when it was listed.
type File struct {
	FS         FS
	Name       string // in FS
	Path       string // in messages: in the form in which the input was given
	Input      int    // ordinal of the input that led to it
	Info       fs.FileInfo
	Partitions []Partition // columns by its path
}

// Open opens the file as it is. A file of the same name that is not the one that was listed is an error: it is opened
// once for each split.
func (f *File) Open(ctx context.Context) (fs.File, io.ReaderAt, error) {
	file, err := f.FS.Open(ctx, f.Name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = f.Same(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	raw, ok := file.(io.ReaderAt)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("%s: the file system cannot read from the middle of a file", f.Path), file.Close())
	}
	return file, raw, nil
}

// probeParallel is how many files are looked at together: enough to hide a network's delay.
const probeParallel = 8

// Each calls do for every file, several at a time, and returns the error of the first file that has one.
func Each[F any](ctx context.Context, files []F, do func(context.Context, F) error) error {
	errs := make([]error, len(files))
	var g errgroup.Group
	g.SetLimit(probeParallel)
	var failed atomic.Bool
	for i, f := range files {
		if failed.Load() {
			break // all before this one are under way: the first error is among them
		}
		g.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = do(ctx, f)
			}
			if errs[i] != nil {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = g.Wait() // errs has them, by file
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
