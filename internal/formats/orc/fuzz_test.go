package orc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/formats/parquet"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/span"
)

// limited returns a limit of n bytes.
func limited(n int64) parquet.Limit {
	return parquet.Limit{Bytes: n, Exceeded: func(what string, need, have int64) error {
		return fmt.Errorf("%s needs %d, and there are %d", what, need, have)
	}}
}

// samples returns the files of testdata.
func samples(t testing.TB) (files [][]byte) {
	t.Helper()
	paths, err := filepath.Glob("../../../testdata/source/orc/*.orc")
	if err != nil || len(paths) < 10 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		testcheck.Must(t, err)
		files = append(files, data)
	}
	return files
}

// readAll reads all columns of a file, and the members of structs by their paths, and returns the number of values.
func readAll(data []byte, limit int64) (values int, err error) {
	raw := bytes.NewReader(data)
	m, err := Open(raw, int64(len(data)), limited(limit))
	if err != nil {
		return 0, err
	}
	columns := []parquet.Column{{Null: true}, {Fixed: true, Value: []byte("x")}}
	for _, n := range m.Tree[:min(len(m.Tree), 100)] {
		columns = append(columns, parquet.Column{Name: n.name})
		for _, kid := range n.kids {
			if path := n.name + "." + kid.name; m.Leads(path) {
				columns = append(columns, parquet.Column{Name: path})
			}
		}
	}
	if err := m.Plan(columns, time.UTC); err != nil {
		return 0, err
	}
	r := NewReader(limited(limit), 1<<20)
	spans := make([]span.Span, len(columns)*maxRows)
	for group, rows := range m.Groups() {
		if err := r.Begin(m, raw, group, spans); err != nil {
			return values, err
		}
		for rows > 0 && values < 1<<20 {
			n, err := r.Rows(spans, int(min(rows, maxRows)))
			if err != nil {
				return values, err
			}
			for _, s := range spans[:n*len(columns)] {
				_ = s.Of(r.Data())
			}
			rows -= int64(n)
			values += n * len(columns)
		}
		if r.held > limit {
			return values, fmt.Errorf("it holds %d bytes", r.held)
		}
		if _, err := r.Finish(nil); err != nil {
			return values, err
		}
	}
	return values, nil
}

// FuzzORC checks that no file causes a panic or takes memory beyond the limit.
func FuzzORC(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { harmless(t, data) })
}

// harmless reads a file, which may be damaged, with at most 8 MiB of memory.
func harmless(t *testing.T, data []byte) {
	const limit = 8 << 20
	used := testcheck.Allocated(func() { _, _ = readAll(data, limit) })
	if used > 8*limit {
		t.Errorf("%d bytes were allocated within a limit of %d", used, limit)
	}
}

// TestDamage changes bytes of files, most of them at the end, which has the offsets and lengths.
func TestDamage(t *testing.T) {
	r := testcheck.Rand(t)
	files := samples(t)
	for _, data := range files {
		if n, err := readAll(data, 64<<20); err != nil || n == 0 {
			t.Fatal(n, err)
		}
	}
	for range race.Cases(t, 3000) {
		data := bytes.Clone(files[r.IntN(len(files))])
		for range 1 + r.IntN(3) {
			at := r.IntN(len(data))
			if r.IntN(2) == 0 {
				at = len(data) - 1 - r.IntN(min(len(data), 300))
			}
			switch r.IntN(3) {
			case 0:
				data[at] ^= 1 << r.IntN(8)
			case 1:
				data[at] = byte(r.Uint32())
			default:
				data[at] = []byte{0, 0x7f, 0x80, 0xff}[r.IntN(4)]
			}
		}
		if r.IntN(10) == 0 {
			data = data[:r.IntN(len(data))]
		}
		harmless(t, data)
	}
}
