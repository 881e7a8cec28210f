package source

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"time"
)

// memFile is the one file of a file system in memory.
type memFile struct {
	name string
	data []byte
}

func (m *memFile) Open(context.Context, string) (fs.File, error) {
	return &memHandle{bytes.NewReader(m.data), m}, nil
}
func (m *memFile) Stat(context.Context, string) (fs.FileInfo, error)      { return m, nil }
func (m *memFile) ReadDir(context.Context, string) ([]fs.FileInfo, error) { return nil, fs.ErrInvalid }

func (m *memFile) Name() string       { return path.Base(m.name) }
func (m *memFile) Size() int64        { return int64(len(m.data)) }
func (m *memFile) Mode() fs.FileMode  { return 0o644 }
func (m *memFile) ModTime() time.Time { return time.Time{} }
func (m *memFile) IsDir() bool        { return false }
func (m *memFile) Sys() any           { return nil }

type memHandle struct {
	*bytes.Reader
	m *memFile
}

func (h *memHandle) Stat() (fs.FileInfo, error) { return h.m, nil }
func (h *memHandle) Close() error               { return nil }

// loadBytes opens and reads data as a file.
func loadBytes(t interface{ Context() context.Context }, o Options, name string, data []byte) ([]record, error) {
	o.AllowEmpty = true
	in, err := Open(t.Context(), func(name string) (FS, string, error) { return &memFile{name, data}, name, nil }, []string{"/" + name}, o)
	if err != nil {
		return nil, err
	}
	return readAll(t.Context(), in)
}
