package hdfsio

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
)

// smallFile is the maximum size in bytes of an interim file that is buffered until Finish, which then creates, writes and
// closes it in three NameNode calls and one connection to a DataNode.
const smallFile = 256 << 10

// interimWriter is a file that is renamed once it is finished. Nothing reads it before that, so Finish creates a small
// one, and repeats that once on failure: its bytes are still buffered.
type interimWriter struct {
	writing // until the file is created
	hdfs    *HDFS
	options CreateOptions
	held    *[]byte     // nil before the first byte and after the bytes are released
	file    *hdfsWriter // once it is created
}

// buffer returns an empty buffer for the bytes of a small file.
func (h *HDFS) buffer() *[]byte {
	b, _ := h.buffers.Get().(*[]byte)
	if b == nil {
		b = new([]byte)
	}
	*b = (*b)[:0]
	return b
}

func (w *interimWriter) Write(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	if w.file == nil && w.n+int64(len(p)) <= smallFile {
		if w.held == nil {
			w.held = w.hdfs.buffer()
		}
		*w.held = append(*w.held, p...)
		w.n = int64(len(*w.held))
		return len(p), nil
	}
	if w.file == nil {
		if err := w.make(); err != nil {
			return 0, err
		}
		w.letGo()
	}
	return w.file.Write(p)
}

// make creates the file and writes the buffered bytes.
func (w *interimWriter) make() error {
	if w.file, w.err = w.hdfs.create(w.ctx, w.name, w.options); w.err != nil || w.held == nil {
		return w.err
	}
	_, err := w.file.Write(*w.held)
	return err
}

// letGo releases the buffered bytes.
func (w *interimWriter) letGo() {
	if w.held != nil {
		w.hdfs.buffers.Put(w.held)
		w.held = nil
	}
}

func (w *interimWriter) Finish() error {
	if err := w.check(); err != nil {
		return err
	}
	if w.file != nil {
		return w.file.Finish()
	}
	for again := false; ; again = true {
		err := w.make()
		if err == nil {
			err = w.file.finish(true)
		}
		if err == nil {
			w.letGo()
			return nil
		}
		if w.file == nil {
			return err
		}
		if w.ctx.Err() != nil || again || w.file.Abort() != nil {
			w.err = err
			return err
		}
		w.hdfs.options.Log.Warn("a small file is written once more", "path", w.name, "error", err)
		w.file = nil
	}
}

func (w *interimWriter) Abort() error {
	w.letGo()
	if w.file != nil {
		return w.file.Abort()
	}
	w.done = true
	return nil
}

func (w *interimWriter) Info() fs.FileInfo {
	if w.file == nil {
		return nil
	}
	return w.file.Info()
}

func (w *interimWriter) check() error {
	if w.err == nil && w.file != nil {
		return w.file.check()
	}
	return w.writing.check()
}

// Reopen implements [Reopener]. One NameNode call confirms that the file is closed, its length, and that its only block is the
// written one. All of its bytes are read at once and their checksums verified, over a DataNode connection left by earlier
// files. On any mismatch, the file is opened like any other.
func (w *interimWriter) Reopen(ctx context.Context) (fs.File, error) {
	if w.file == nil || w.file.blocks != 1 || w.file.n > smallFile {
		return w.hdfs.Open(ctx, w.name)
	}
	data := w.hdfs.buffer()
	err := w.readBack(ctx, data)
	if err == nil {
		return &wholeFile{Reader: bytes.NewReader(*data), info: w.file.info, data: data, hdfs: w.hdfs}, nil
	}
	w.hdfs.buffers.Put(data)
	if ctx.Err() != nil {
		return nil, &fs.PathError{Op: "open", Path: w.name, Err: context.Cause(ctx)}
	}
	w.hdfs.options.Log.Warn("a small file is read in the way of large ones", "path", w.name, "error", err)
	return w.hdfs.Open(ctx, w.name)
}

func (w *interimWriter) readBack(ctx context.Context, data *[]byte) error {
	r := w.hdfs.dfs.OpenWritten(w.name, *w.file.last)
	defer r.Close()
	*data = slices.Grow(*data, int(w.file.n))[:w.file.n]
	for at := 0; at < len(*data); {
		n, err := r.ReadAt(ctx, (*data)[at:], int64(at))
		if err != nil {
			return err
		}
		at += n
	}
	back := crypt{key: w.file.crypt.key}
	back.apply(*data, *data, 0)
	return nil
}

// wholeFile is a file that is in memory as a whole.
type wholeFile struct {
	*bytes.Reader
	info fs.FileInfo
	data *[]byte // nil once it is closed
	hdfs *HDFS
}

func (f *wholeFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close releases the bytes. Later reads return none.
func (f *wholeFile) Close() error {
	if f.data != nil {
		f.Reset(nil)
		f.hdfs.buffers.Put(f.data)
		f.data = nil
	}
	return nil
}
