package hdfsio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"syscall"
	"time"
)

type memoryWriter struct {
	writing
	memory *Memory
	node   *node
	data   []byte
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	w.data = append(w.data, p...)
	w.n = int64(len(w.data))
	return len(p), nil
}

func (w *memoryWriter) Finish() error {
	w.memory.mu.Lock()
	defer w.memory.mu.Unlock()
	if err := w.check(); err != nil {
		return err
	}
	if w.memory.nodes[w.name] != w.node {
		return w.fail(fs.ErrNotExist) // removed during the write, which revokes the writer's lease
	}
	w.node.data = w.data
	w.node.mtime = time.Now()
	w.done = true
	return nil
}

func (w *memoryWriter) Abort() error {
	w.memory.mu.Lock()
	defer w.memory.mu.Unlock()
	if !w.done && w.memory.nodes[w.name] == w.node {
		delete(w.memory.nodes, w.name)
	}
	w.done = true
	return nil
}

type memoryFile struct {
	ctx  context.Context
	name string
	info knownInfo
	r    *bytes.Reader
}

func (f *memoryFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *memoryFile) Read(p []byte) (int, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	return f.r.Read(p)
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	return f.r.ReadAt(p, off)
}

func (f *memoryFile) Close() error {
	f.r = nil
	return nil
}

func (f *memoryFile) check() error {
	switch {
	case f.r == nil:
		return &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrClosed}
	case f.info.mode.IsDir():
		return &fs.PathError{Op: "read", Path: f.name, Err: syscall.EISDIR}
	case f.ctx.Err() != nil:
		return &fs.PathError{Op: "read", Path: f.name, Err: context.Cause(f.ctx)}
	}
	return nil
}

var _ io.ReaderAt = (*memoryFile)(nil)

// knownInfo describes a file from what its writer knows.
type knownInfo struct {
	name string
	size int64
	mode fs.FileMode
	id   uint64
	made time.Time
}

func (n *node) info(name string) knownInfo {
	return knownInfo{name: path.Base(name), id: n.id, size: int64(len(n.data)), mode: n.mode, made: n.mtime}
}

func (i knownInfo) Name() string           { return i.name }
func (i knownInfo) Size() int64            { return i.size }
func (i knownInfo) Mode() fs.FileMode      { return i.mode }
func (i knownInfo) ModTime() time.Time     { return i.made }
func (i knownInfo) IsDir() bool            { return i.mode.IsDir() }
func (i knownInfo) Sys() any               { return nil }
func (i knownInfo) FileID() (uint64, bool) { return i.id, i.id != 0 }

// lengthError reports a file whose length differs from the number of bytes
// written to it.
func lengthError(wrote, have int64) error {
	return fmt.Errorf("%d bytes were written but the file has %d", wrote, have)
}
