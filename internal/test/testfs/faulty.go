// Package testfs provides a file system for tests whose operations fail on demand: [Faulty].
package testfs

import (
	"context"
	"io"
	"io/fs"

	"bulkload/pkg/hdfsio"
)

// Op names an operation for fault injection.
type Op string

// The operations that can fail in a [Faulty] file system.
const (
	OpCreate    Op = "create"
	OpWrite     Op = "write"
	OpFinish    Op = "finish"
	OpAbort     Op = "abort"
	OpOpen      Op = "open"
	OpRead      Op = "read"
	OpReadAt    Op = "readat"
	OpStat      Op = "stat"
	OpReadDir   Op = "readdir"
	OpRename    Op = "rename"
	OpRemove    Op = "remove"
	OpRemoveAll Op = "removeall"
	OpMkdirAll  Op = "mkdirall"
	OpChmod     Op = "chmod"
)

// Fault is a failure to inject.
type Fault struct {
	// Err is returned by the operation. For writes it is wrapped in a [hdfsio.RewriteError] unless it is one.
	Err error
	// After performs the operation first: only its response is lost.
	After bool
}

// Faulty wraps a file system whose operations fail as Inject decides.
type Faulty struct {
	FS hdfsio.FS
	// Inject is called before each operation, with its name, the file, and the offset for reads and writes (0 for others).
	// If it returns nil, the operation is performed. Calls may be concurrent.
	Inject func(op Op, name string, offset int64) *Fault
}

var _ hdfsio.FS = (*Faulty)(nil)

func (f *Faulty) do(op Op, name string, offset int64, act func() error) error {
	var fault *Fault
	if f.Inject != nil {
		fault = f.Inject(op, name, offset)
	}
	if fault == nil {
		return act()
	}
	if fault.After {
		if err := act(); err != nil {
			return err
		}
	}
	return fault.Err
}

// get is do for an operation with a result.
func get[T any](f *Faulty, op Op, name string, offset int64, act func() (T, error)) (got T, err error) {
	err = f.do(op, name, offset, func() (err error) {
		got, err = act()
		return err
	})
	return got, err
}

func (f *Faulty) Create(ctx context.Context, name string, o hdfsio.CreateOptions) (hdfsio.Writer, error) {
	w, err := get(f, OpCreate, name, 0, func() (hdfsio.Writer, error) { return f.FS.Create(ctx, name, o) })
	if err != nil {
		return nil, err
	}
	return &faultyWriter{faulty: f, w: w, name: name}, nil
}

func (f *Faulty) Open(ctx context.Context, name string) (fs.File, error) {
	file, err := get(f, OpOpen, name, 0, func() (fs.File, error) { return f.FS.Open(ctx, name) })
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, faulty: f, name: name}, nil
}

func (f *Faulty) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	return get(f, OpStat, name, 0, func() (fs.FileInfo, error) { return f.FS.Stat(ctx, name) })
}

func (f *Faulty) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	return get(f, OpReadDir, name, 0, func() ([]fs.FileInfo, error) { return f.FS.ReadDir(ctx, name) })
}

// Rename implements [hdfsio.FS]. Inject sees the old name.
func (f *Faulty) Rename(ctx context.Context, from, to string) error {
	return f.do(OpRename, from, 0, func() error { return f.FS.Rename(ctx, from, to) })
}

func (f *Faulty) Remove(ctx context.Context, name string) error {
	return f.do(OpRemove, name, 0, func() error { return f.FS.Remove(ctx, name) })
}

func (f *Faulty) RemoveAll(ctx context.Context, name string) error {
	return f.do(OpRemoveAll, name, 0, func() error { return f.FS.RemoveAll(ctx, name) })
}

func (f *Faulty) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	return f.do(OpMkdirAll, name, 0, func() error { return f.FS.MkdirAll(ctx, name, perm) })
}

// Mkdir implements [hdfsio.FS]. It uses the faults of MkdirAll.
func (f *Faulty) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return f.do(OpMkdirAll, name, 0, func() error { return f.FS.Mkdir(ctx, name, perm) })
}

func (f *Faulty) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return f.do(OpChmod, name, 0, func() error { return f.FS.Chmod(ctx, name, perm) })
}

type faultyWriter struct {
	faulty *Faulty
	w      hdfsio.Writer
	name   string
	n      int64
	err    error
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := get(w.faulty, OpWrite, w.name, w.n, func() (int, error) { return w.w.Write(p) })
	w.n += int64(n)
	return n, w.fail(err)
}

func (w *faultyWriter) Finish() error {
	if w.err != nil {
		return w.err
	}
	return w.fail(w.faulty.do(OpFinish, w.name, w.n, w.w.Finish))
}

func (w *faultyWriter) Abort() error { return w.faulty.do(OpAbort, w.name, w.n, w.w.Abort) }

func (w *faultyWriter) fail(err error) error {
	if err != nil && w.err == nil {
		w.err = err
		if re, ok := err.(*hdfsio.RewriteError); !ok || re == nil {
			w.err = &hdfsio.RewriteError{Path: w.name, Offset: w.n, Err: err}
		}
	}
	return w.err
}

type faultyFile struct {
	fs.File
	faulty *Faulty
	name   string
	n      int64
}

func (r *faultyFile) Read(p []byte) (int, error) {
	n, err := get(r.faulty, OpRead, r.name, r.n, func() (int, error) { return r.File.Read(p) })
	r.n += int64(n)
	return n, err
}

func (r *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	at, ok := r.File.(io.ReaderAt)
	if !ok {
		return 0, &fs.PathError{Op: "readat", Path: r.name, Err: fs.ErrInvalid}
	}
	return get(r.faulty, OpReadAt, r.name, off, func() (int, error) { return at.ReadAt(p, off) })
}
