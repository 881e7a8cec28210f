package filecheck

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"bulkload/internal/model/manifest"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen/rowkey"
)

// Opener opens files. Every file system is an Opener.
type Opener interface {
	Open(ctx context.Context, name string) (fs.File, error)
}

// Open opens a file that is to be an HFile. A named pipe is none: opening it would wait for a writer.
func Open(ctx context.Context, fsys Opener, name string) (*hdfsio.ReaderAt, error) {
	if _, ok := fsys.(hdfsio.Local); ok {
		if info, err := os.Stat(name); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a named pipe: give a file")}
		}
	}
	return hdfsio.OpenAt(ctx, fsys, name)
}

// OpenHFile opens an HFile of a file system. The caller closes the returned closer.
func OpenHFile(ctx context.Context, fsys hdfsio.FS, name string) (*hfile.Reader, io.Closer, error) {
	return openHFile(ctx, fsys, name, 0)
}

// openHFile is OpenHFile, but reads a file of at most small bytes as a whole.
func openHFile(ctx context.Context, fsys Opener, name string, small int64) (*hfile.Reader, io.Closer, error) {
	f, err := Open(ctx, fsys, name)
	if err != nil {
		return nil, nil, err
	}
	at, size := io.ReaderAt(f), f.Info.Size()
	if size <= small {
		whole := make([]byte, size)
		_, err = io.ReadFull(io.NewSectionReader(f, 0, size), whole)
		at = bytes.NewReader(whole)
	}
	var r *hfile.Reader
	if err == nil {
		r, err = hfile.Open(at, size, hfile.ReaderOptions{})
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return r, f, nil
}

// Meta holds an HFile's metadata, with its first and last row.
type Meta struct {
	hfile.Meta
	FirstRow, LastRow, Family []byte
}

// smallFile is the size in bytes up to which ReadMeta reads a file at once. Otherwise trailer, index and blocks are
// read in random order, and on HDFS each backward seek needs a new connection to a DataNode.
const smallFile = 256 << 10

// ReadMeta reads an HFile's metadata: trailer, index, file info.
func ReadMeta(ctx context.Context, fsys Opener, name string) (Meta, error) {
	r, f, err := openHFile(ctx, fsys, name, smallFile)
	if err != nil {
		return Meta{}, err
	}
	defer f.Close()
	m := Meta{Meta: r.Meta()}
	if m.FirstRow, m.LastRow, err = r.Rows(); err == nil {
		m.Family, err = r.Family()
	}
	return m, err
}

// Written verifies a written file: it reads back length, trailer, index and file info.
func Written(ctx context.Context, fsys Opener, name string, want manifest.File) error {
	meta, err := ReadMeta(ctx, fsys, name)
	if err != nil {
		return fmt.Errorf("read back %s: %w", name, err)
	}
	if meta.Cells != want.Cells || meta.Bytes != want.Bytes {
		return fmt.Errorf("read back %s: it has %d cells in %d bytes, want %d in %d", name, meta.Cells, meta.Bytes, want.Cells, want.Bytes)
	}
	return nil
}

// HFileMeta is an HFile's metadata in printable form.
type HFileMeta struct {
	File        string      `json:"file"`
	Version     string      `json:"version"`
	Bytes       int64       `json:"bytes"`
	Cells       int64       `json:"cells"`
	Compression string      `json:"compression"`
	Encoding    string      `json:"encoding"`
	Bloom       string      `json:"bloom"`
	BloomKeys   int64       `json:"bloom_keys"`
	IndexLevels int         `json:"index_levels"`
	FirstRow    string      `json:"first_row"` // printable bytes unchanged, others as \xNN
	LastRow     string      `json:"last_row"`
	Info        []InfoEntry `json:"info"`
}

// InfoEntry is one entry of an HFile's file info.
type InfoEntry struct {
	Key  string `json:"key"`
	Hex  string `json:"hex"`
	Text string `json:"text"` // formatted by its meaning
}

// DescribeHFile returns an HFile's metadata in printable form.
func DescribeHFile(name string, r *hfile.Reader) (HFileMeta, error) {
	m := r.Meta()
	first, last, err := r.Rows()
	if err != nil {
		return HFileMeta{}, err
	}
	v := HFileMeta{
		File: name, Version: fmt.Sprintf("%d.%d", m.Major, m.Minor), Bytes: m.Bytes, Cells: m.Cells, Compression: m.Compression.String(),
		Encoding: m.Encoding.String(), Bloom: m.Bloom.String(), BloomKeys: m.BloomKeys, IndexLevels: m.IndexLevels,
		FirstRow: rowkey.String(first), LastRow: rowkey.String(last),
	}
	for _, k := range m.InfoKeys() {
		v.Info = append(v.Info, InfoEntry{Key: k, Hex: fmt.Sprintf("%x", m.Info[k]), Text: infoText(k, m.Info[k])})
	}
	return v, nil
}

// infoText formats a value of the file info by its type.
func infoText(key string, v []byte) string {
	times := []string{"BULKLOAD_TIMESTAMP", "hfile.CREATE_TIME_TS", "EARLIEST_PUT_TS"}
	switch {
	case len(v) == 8 && slices.Contains(times, key):
		return time.UnixMilli(int64(binary.BigEndian.Uint64(v))).UTC().Format("2006-01-02 15:04:05.000 UTC")
	case len(v) == 16 && key == "TIMERANGE":
		return fmt.Sprintf("%d … %d", binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:]))
	case len(v) == 1:
		return fmt.Sprint(v[0] != 0)
	case len(v) == 4:
		return fmt.Sprint(int32(binary.BigEndian.Uint32(v)))
	case len(v) == 8:
		return fmt.Sprint(int64(binary.BigEndian.Uint64(v)))
	}
	if utf8.Valid(v) && !slices.ContainsFunc([]rune(string(v)), func(r rune) bool { return !unicode.IsPrint(r) }) {
		return string(v)
	}
	return rowkey.String(v)
}
