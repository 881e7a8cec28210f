package build

import (
	"context"
	"io/fs"

	"bulkload/pkg/hdfsio"
)

// lateWriter creates its file with the first write. On HDFS creation waits for the NameNode, which the writing goroutine
// can do. A file without a write is never created.
type lateWriter struct {
	create func() (hdfsio.Writer, error)
	file   hdfsio.Writer // nil: not created yet
}

func (w *lateWriter) Write(p []byte) (int, error) {
	if w.file == nil {
		var err error
		if w.file, err = w.create(); err != nil {
			w.file = nil
			return 0, err
		}
	}
	return w.file.Write(p)
}

// Finish implements [hdfsio.Writer].
func (w *lateWriter) Finish() error {
	if w.file == nil {
		return fs.ErrNotExist
	}
	return w.file.Finish()
}

// Abort implements [hdfsio.Writer].
func (w *lateWriter) Abort() error {
	if w.file == nil {
		return nil
	}
	return w.file.Abort()
}

// Info implements [hdfsio.Finished].
func (w *lateWriter) Info() fs.FileInfo {
	if f, ok := w.file.(hdfsio.Finished); ok {
		return f.Info()
	}
	return nil
}

// reopen opens a finished file again, for [filecheck.Written].
type reopen struct {
	fsys   hdfsio.FS
	writer *lateWriter
}

// Open implements [filecheck.Opener]. It uses the writer's own way to reopen the file if there is one.
func (r reopen) Open(ctx context.Context, name string) (fs.File, error) {
	if f, ok := r.writer.file.(hdfsio.Reopener); ok {
		return f.Reopen(ctx)
	}
	return r.fsys.Open(ctx, name)
}
