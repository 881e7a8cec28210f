package avro

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/pkg/source/span"
)

func samples(f *testing.F) [][]byte {
	f.Helper()
	names, err := filepath.Glob("testdata/*/*.avro")
	if err != nil || len(names) == 0 {
		f.Fatal(err)
	}
	var all [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

// FuzzHeader reads a header, and plans all of its columns.
func FuzzHeader(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data[:min(len(data), 1200)])
	}
	f.Add(fileOf(nested, "snappy", 0, nil))
	f.Add(fileOf(record(`"int"`, `"r"`, `{"type":"array","items":"r"}`), "bzip2", 0, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		if h.Data < 21 || h.Data > h.Size || len(h.Columns) != len(h.Types) {
			t.Errorf("%d of %d bytes, %d columns, %d types", h.Data, h.Size, len(h.Columns), len(h.Types))
		}
		for _, c := range h.Columns {
			var e *ColumnError
			if _, err := Compile(h, []string{c, c}, Options{}); err != nil && (!errors.As(err, &e) || errors.Is(err, ErrNoColumn)) {
				t.Errorf("%v", err)
			}
		}
	})
}

// FuzzSchema reads a schema, plans all of its columns, and decodes a block of zeros.
func FuzzSchema(f *testing.F) {
	for _, data := range samples(f) {
		if h, err := ReadHeader(bytes.NewReader(data), int64(len(data))); err == nil {
			f.Add(string(h.Meta["avro.schema"]))
		}
	}
	f.Add(nested)
	f.Add(record(`"int"`, `"r"`, `{"type":"array","items":"r"}`))
	f.Add(record(`{"type":"fixed","name":"x","size":3,"logicalType":"decimal","precision":5,"scale":2}`, `["null","x"]`, `{"type":"map","values":"x"}`))
	f.Fuzz(func(t *testing.T, schema string) {
		h, err := headed(schema)
		if err != nil {
			return
		}
		for _, c := range h.Columns {
			p, err := Compile(h, []string{c, c}, Options{MaxText: 1 << 16})
			var e *ColumnError
			if err != nil {
				if !errors.As(err, &e) || errors.Is(err, ErrNoColumn) {
					t.Errorf("%v", err)
				}
				continue
			}
			block := Block{Records: 1, End: 1000}
			_, _ = p.Record(make([]byte, 1000), &block, make([]span.Span, 2))
		}
	})
}

// FuzzBlocks reads any bytes after a header, as one split and as two.
func FuzzBlocks(f *testing.F) {
	for _, data := range samples(f) {
		if h, err := ReadHeader(bytes.NewReader(data), int64(len(data))); err == nil {
			f.Add(h.Codec, data[h.Data:], 200)
		}
	}
	f.Fuzz(func(t *testing.T, codec string, rest []byte, cut int) {
		data := append(fileOf(record(`"long"`, `["null","string"]`), codec, 0, nil), rest...)
		size := int64(len(data))
		h, err := ReadHeader(bytes.NewReader(data), size)
		if err != nil {
			return
		}
		read := func(from, to int64) (offsets []int64, err error) {
			b := NewBlocks(1 << 20)
			b.Open(h, bytes.NewReader(data), from, to)
			var buf []byte
			for {
				var block Block
				buf, block, err = b.Next(buf[:0])
				if err != nil {
					return offsets, err
				}
				if block.At != 0 || block.End != len(buf) || block.End > 1<<20 || block.Records < 1 || block.Records > int64(len(buf)) {
					t.Fatalf("%+v of %d bytes", block, len(buf))
				}
				offsets = append(offsets, block.Offset)
			}
		}
		whole, err := read(0, size)
		if err != io.EOF || bytes.Count(data, h.Sync[:]) != len(whole)+1 {
			return
		}
		at := max(0, min(size, int64(cut)))
		first, err1 := read(0, at)
		second, err2 := read(at, size)
		if err1 != io.EOF || err2 != io.EOF || len(first)+len(second) != len(whole) {
			t.Errorf("cut at %d of %d: %v %v, %v %v, want %v", at, size, first, err1, second, err2, whole)
		}
	})
}

// FuzzRecord decodes and skips any bytes as a record, without a panic; of a valid record both take the same number of
// bytes.
func FuzzRecord(f *testing.F) {
	schemas := []string{nested, record(`"int"`, `["null","string"]`, `{"type":"map","values":["boolean","double","null"]}`, `{"type":"array","items":{"type":"bytes","logicalType":"decimal","precision":9,"scale":3}}`),
		record(`{"type":"enum","name":"e","symbols":["A","B"]}`, `{"type":"fixed","name":"f","size":16,"logicalType":"uuid"}`, `{"type":"long","logicalType":"timestamp-nanos"}`, `"float"`)}
	var headers []*Header
	for _, s := range schemas {
		h, err := headed(s)
		if err != nil {
			f.Fatal(err)
		}
		headers = append(headers, h)
	}
	f.Add(uint8(0), []byte("\x02\x00\x00\x00\x00abcdefghijkl\x02x"))
	f.Add(uint8(0), []byte("\x02\x02\x00\x02y01234567abcdefgh\x00\x02\x02a\x00\x02\x02\x02\x04\x00abcdefghijkl\x02x"))
	f.Add(uint8(1), []byte("\x02\x02\x02a\x01\x0a\x02k\x02\x00\x00\x02\x02\x7f\x00"))
	f.Add(uint8(2), []byte("\x020123456789abcdef\x7f\x00\x00\x80\x3f"))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		h := headers[int(which)%len(headers)]
		var all []string
		for i, c := range h.Columns {
			if h.Types[i] != "duration" && c != "list" {
				all = append(all, c)
			}
		}
		end := -1
		for _, columns := range [][]string{all, all[:1], nil} {
			p, err := Compile(h, columns, Options{MaxText: 1 << 16})
			if err != nil {
				t.Fatal(err)
			}
			block := Block{Offset: h.Data, Records: 1, End: len(data)}
			fields := make([]span.Span, len(columns))
			buf, err := p.Record(bytes.Clone(data), &block, fields)
			if !bytes.Equal(buf[:len(data)], data) {
				t.Fatal("the block has changed")
			}
			var e *Error
			var size *SizeError
			switch {
			case err == nil:
				for _, v := range fields {
					if !v.IsNull() && int(v.Off)+int(v.Len) > len(buf) {
						t.Fatalf("%+v of %d bytes", v, len(buf))
					}
				}
				if end >= 0 && end != block.At && !strings.Contains(string(data), "\x01") {
					t.Errorf("%d bytes with %d columns, %d with all", block.At, len(columns), end)
				}
				if len(columns) == len(all) {
					end = block.At
				}
			case !errors.As(err, &e) && !errors.As(err, &size):
				t.Fatal(err)
			case end >= 0:
				t.Errorf("%v with %d columns, none with all", err, len(columns))
			}
		}
	})
}
