package filecheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// TestReadMeta checks the rows, the family and the length of a file that is read at once or in parts.
func TestReadMeta(t *testing.T) {
	m := hdfsio.NewMemory()
	sizes := []int64{}
	for _, rows := range []int{1, 9, 700, 3000} {
		name := fmt.Sprintf("/f/%d", rows)
		f := jobtest.WriteCells(t, m, name, jobtest.SomeCells(rows), hfile.Options{})
		meta, err := ReadMeta(t.Context(), m, name)
		testcheck.Must(t, err)
		if string(meta.FirstRow) != "000000" || string(meta.LastRow) != fmt.Sprintf("%06d", rows-1) || string(meta.Family) != "f" || meta.Cells != f.Cells || meta.Bytes != f.Size {
			t.Errorf("%d rows: %+v", rows, meta)
		}
		sizes = append(sizes, f.Size)
	}
	if sizes[0] > smallFile || sizes[len(sizes)-1] <= smallFile {
		t.Errorf("files of %v bytes: none is large, or none is small", sizes)
	}
}

// TestWritten checks that a file must have the cells and bytes that were written.
func TestWritten(t *testing.T) {
	m := hdfsio.NewMemory()
	f, whole := written(t, m, "/f/x", 30)
	testcheck.Must(t, Written(t.Context(), m, f.Path, f.File))
	for what, c := range map[string]struct{ cells, bytes int64 }{"cells": {f.Cells + 1, f.Bytes}, "bytes": {f.Cells, f.Bytes - 1}} {
		want := f.File
		want.Cells, want.Bytes = c.cells, c.bytes
		text := fmt.Sprintf("read back /f/x: it has %d cells in %d bytes, want %d in %d", f.Cells, f.Bytes, c.cells, c.bytes)
		if err := Written(t.Context(), m, f.Path, want); err == nil || err.Error() != text {
			t.Errorf("other %s: %v, want %s", what, err, text)
		}
	}
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		put(t, m, f.Path, whole[:n])
		if err := Written(t.Context(), m, f.Path, f.File); err == nil || !strings.HasPrefix(err.Error(), "read back /f/x: ") {
			t.Errorf("cut at byte %d: %v", n, err)
		}
	}
	if err := Written(t.Context(), m, "/none", f.File); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// counted is a file system that counts its open files. Some calls fail.
type counted struct {
	hdfsio.FS
	open      int
	stat      error
	read      error
	noOffsets bool
}

type countedFile struct {
	fs.File
	of *counted
}

func (c *counted) Open(ctx context.Context, name string) (fs.File, error) {
	f, err := c.FS.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	c.open++
	if c.noOffsets {
		return struct{ fs.File }{&countedFile{f, c}}, nil
	}
	return &countedFile{f, c}, nil
}

func (f *countedFile) Stat() (fs.FileInfo, error) {
	if f.of.stat != nil {
		return nil, f.of.stat
	}
	return f.File.Stat()
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	if f.of.read != nil {
		return 0, f.of.read
	}
	return f.File.(io.ReaderAt).ReadAt(p, off)
}

func (f *countedFile) Close() error {
	f.of.open--
	return f.File.Close()
}

// TestOpenFails checks that a file that cannot be read, or is not an HFile, is closed again.
func TestOpenFails(t *testing.T) {
	m := hdfsio.NewMemory()
	_, whole := written(t, m, "/f/x", 3)
	broken := errors.New("no DataNode answers")
	put(t, m, "/f/cut", whole[:len(whole)-9])
	for what, c := range map[string]struct {
		fs   counted
		name string
		is   error
		says string
	}{
		"not there":     {counted{}, "/f/none", fs.ErrNotExist, "/f/none"},
		"no length":     {counted{stat: broken}, "/f/x", broken, ""},
		"unreadable":    {counted{read: broken}, "/f/x", broken, ""},
		"no offsets":    {counted{noOffsets: true}, "/f/x", nil, "/f/x: struct { fs.File } cannot be read at an offset"},
		"no whole file": {counted{}, "/f/cut", nil, ""},
	} {
		c.fs.FS = m
		_, err := ReadMeta(t.Context(), &c.fs, c.name)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
		if _, _, err := OpenHFile(t.Context(), &c.fs, c.name); err == nil {
			t.Errorf("%s: it opens", what)
		}
		if c.fs.open != 0 {
			t.Errorf("%s: %d files are open", what, c.fs.open)
		}
	}
	ok := &counted{FS: m}
	r, f, err := OpenHFile(t.Context(), ok, "/f/x")
	if err != nil || ok.open != 1 || r.Meta().Cells != 9 {
		t.Fatalf("%d open, %v", ok.open, err)
	}
	testcheck.Must(t, f.Close())
	if damaged, err := (&Checker{FS: &counted{FS: m, noOffsets: true}}).All(t.Context(), []Target{{Path: "/f/x", File: fileOf(whole)}}); err == nil || len(damaged) > 0 || !strings.Contains(err.Error(), "at an offset") {
		t.Errorf("a check without offsets: %v, %v", damaged, err)
	}
}

// TestDescribeHFile checks that the printed metadata equal the options of the writer.
func TestDescribeHFile(t *testing.T) {
	m := hdfsio.NewMemory()
	cells := jobtest.SomeCells(40)
	cells[0].Row = []byte("0\x00\xff")
	jobtest.WriteCells(t, m, "/f/x", cells[:1], hfile.Options{})
	jobtest.WriteCells(t, m, "/f/y", jobtest.SomeCells(40), hfile.Options{Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow,
		BulkloadTime: 1_700_000_000_123, CreateTime: math.MaxInt32})
	describe := func(name string) HFileMeta {
		r, f, err := OpenHFile(t.Context(), m, name)
		testcheck.Must(t, err)
		defer f.Close()
		v, err := DescribeHFile(name, r)
		testcheck.Must(t, err)
		return v
	}
	if v := describe("/f/x"); v.FirstRow != `0\x00\xFF` || v.LastRow != v.FirstRow || v.Cells != 1 || v.File != "/f/x" {
		t.Errorf("%+v", v)
	}
	v := describe("/f/y")
	if v.Compression != "SNAPPY" || v.Encoding != "FAST_DIFF" || v.Bloom != "ROW" || v.BloomKeys != 40 || v.Cells != 120 || !strings.HasPrefix(v.Version, "3.") || v.FirstRow != "000000" || v.LastRow != "000039" || v.IndexLevels != 1 {
		t.Errorf("%+v", v)
	}
	for key, text := range map[string]string{"BULKLOAD_TIMESTAMP": "2023-11-14 22:13:20.123 UTC", "hfile.CREATE_TIME_TS": "1970-01-25 20:31:23.647 UTC", "TIMERANGE": "5 … 5"} {
		i := slices.IndexFunc(v.Info, func(e InfoEntry) bool { return e.Key == key })
		if i < 0 || v.Info[i].Text != text {
			t.Errorf("%s is not %s among %+v", key, text, v.Info)
		}
	}
}

// TestInfoText checks that a value is formatted by its length and its key, and as escaped bytes if it is not text.
func TestInfoText(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"BULKLOAD_TIMESTAMP", "\x00\x00\x00\x00\x00\x00\x03\xe8", "1970-01-01 00:00:01.000 UTC"},
		{"OTHER", "\x00\x00\x00\x00\x00\x00\x03\xe8", "1000"},
		{"OTHER", "\xff\xff\xff\xff\xff\xff\xff\xff", "-1"},
		{"TIMERANGE", "\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x09", "5 … 9"},
		{"OTHER", "sixteen bytes, ok", "sixteen bytes, ok"},
		{"OTHER", "\x01", "true"},
		{"OTHER", "\x00", "false"},
		{"OTHER", "\xff\xff\xff\xfe", "-2"},
		{"OTHER", "名称", "名称"},
		{"OTHER", "a\x00b", `a\x00b`},
		{"OTHER", "ab\xff", `ab\xFF`},
		{"OTHER", "", ""},
		{"BULKLOAD_TIMESTAMP", "text", "1952807028"},
	} {
		if got := infoText(c.key, []byte(c.value)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.key, c.value, got, c.want)
		}
	}
}

// TestPipeIsNoFile checks that a named pipe is refused as an HFile, also behind a link: opening it would wait for a writer.
func TestPipeIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	testcheck.Must(t, syscall.Mkfifo(pipe, 0o600))
	testcheck.Must(t, os.Symlink(pipe, link))
	for _, name := range []string{pipe, link} {
		if _, err := ReadMeta(t.Context(), hdfsio.Local{}, name); err == nil || !strings.Contains(err.Error(), "named pipe") {
			t.Errorf("%s: %v", name, err)
		}
		target := Target{Path: name, File: manifest.File{Bytes: 9}}
		if _, err := (&Checker{FS: hdfsio.Local{}}).All(t.Context(), []Target{target}); err == nil || !strings.Contains(err.Error(), "named pipe") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
