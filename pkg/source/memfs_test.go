package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
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

// shortFile is a file whose ReadAt returns fewer bytes than asked for, without an error: at most so many, or none.
type shortFile struct {
	fs.File
	at   io.ReaderAt
	most int
}

func (f shortFile) ReadAt(p []byte, off int64) (int, error) {
	return f.at.ReadAt(p[:min(len(p), f.most)], off)
}

// shortFS opens files of the local disk as shortFile.
type shortFS struct {
	FS
	most int
}

func (s shortFS) Open(ctx context.Context, name string) (fs.File, error) {
	f, err := s.FS.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return shortFile{f, f.(io.ReaderAt), s.most}, nil
}

// TestShortReads reads files of all formats from a file system that returns few bytes at a time without an error, and from one that returns none.
func TestShortReads(t *testing.T) {
	for _, name := range []string{"exports/check.csv", "exports/check.parquet", "source/orc/spark-shanghai-lz4.orc", "source/avro/polars.avro"} {
		path := testcheck.Path(t, "testdata", name)
		read := func(most int) (values []string, err error) {
			resolve := func(name string) (FS, string, error) {
				fsys, name, err := disk(name)
				if most == 0 {
					return fsys, name, err
				}
				return shortFS{fsys, max(most, 0)}, name, err
			}
			in, err := Open(t.Context(), resolve, []string{path}, Options{})
			if err != nil {
				return nil, err
			}
			r := in.NewReader()
			for split := range in.Splits() {
				err = errors.Join(err, r.Read(t.Context(), split, func(b *Batch) error {
					for i := range b.Rows * b.Cols {
						values = append(values, string(b.Field(i/b.Cols, i%b.Cols)))
					}
					return nil
				}))
			}
			return values, err
		}
		want, err := read(0)
		testcheck.Must(t, err)
		if got, err := read(7000); err != nil || len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d of %d values, %v", name, len(got), len(want), err)
		}
		if _, err := read(-1); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%s without a byte: %v", name, err)
		}
	}
}
