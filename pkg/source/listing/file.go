// Package listing finds the files of inputs: files, directories with all files below them, and patterns. [List] is the entry point. It rejects files
// that are not inputs, such as a file that is being written or a table of another engine, ignores files without data, and reads the columns of
// directories name=value. A [File] can be opened as long as it is the file that was listed.
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
	// Open opens a file, which must also be an [io.ReaderAt]. Reads may fail when the context has ended.
	Open(ctx context.Context, name string) (fs.File, error)
	// Stat describes a file or a directory; of a link, what it leads to.
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	// ReadDir lists a directory, in any order.
	ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error)
}

// Resolve finds the file system of an input, and its absolute name there. Patterns go through it too, so it must leave
// *, ?, [, ], {, } and \ as they are.
type Resolve func(path string) (fsys FS, name string, err error)

// Options select files, and determine the meaning of the directories in their paths.
type Options struct {
	// Partitions determines whether directories name=value are columns: with [PartitionsAuto] alone, or none, each is. With [PartitionsOff] alone none is.
	// Otherwise the last ones of a path have these names.
	Partitions []string
	// Where chooses partitions, such as dt>=2026-11-01; all conditions must hold.
	Where []string
	// AllowEmpty accepts inputs without data.
	AllowEmpty bool
	// Described says that directories are not partitions: the records of reject files were in other files.
	Described bool
}

// File is a file at the time when it was listed.
type File struct {
	FS         FS
	Name       string // in FS
	Path       string // in messages: in the form in which the input was given
	Input      int    // ordinal of the input that led to it
	Info       fs.FileInfo
	Partitions []Partition // columns from its path
}

// Open opens the file. If the file of this name is not the one that was listed, that is an error: a file is opened once for each split.
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
	return file, whole{raw}, nil
}

// whole fills what is read: a file system of a caller may return fewer bytes without an error.
type whole struct{ at io.ReaderAt }

func (w whole) ReadAt(p []byte, off int64) (n int, err error) {
	for {
		m, err := w.at.ReadAt(p[n:], off+int64(n))
		switch n += m; {
		case n == len(p) || err != nil:
			return n, err
		case m == 0:
			return n, io.ErrNoProgress
		}
	}
}

// openFiles is a file system, such as HDFS, whose listings do not show that a file is being written.
type openFiles interface {
	// BeingWritten reports whether a writer has the file open, or has died without closing it.
	BeingWritten(ctx context.Context, name string) (bool, error)
}

// notOpen rejects a file that is open for writing. HDFS shows only its complete blocks: most such files have none, so they look empty.
func (f *File) notOpen(ctx context.Context, fsys openFiles) error {
	switch open, err := fsys.BeingWritten(ctx, f.Name); {
	case err != nil:
		return err
	case open:
		return Refuse("%s is open for writing on HDFS: wait until its writer has closed it (a writer that died: hdfs debug recoverLease -path %s)", f.Path, f.Path)
	}
	return nil
}

// closed checks that the file is not being written. An empty file, which may be ignored, is checked once more: its writer may have closed
// it since it was listed. A file with data is compared when it is opened.
func (f *File) closed(ctx context.Context) error {
	fsys, ok := f.FS.(openFiles)
	if !ok {
		return nil
	}
	if err := f.notOpen(ctx, fsys); err != nil || f.Info.Size() > 0 {
		return err
	}
	info, err := f.FS.Stat(ctx, f.Name)
	if err != nil {
		return err
	}
	return f.Same(info)
}

// probeParallel is the number of files that are examined at a time: enough to hide a network's latency.
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
