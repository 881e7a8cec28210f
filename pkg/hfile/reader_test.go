package hfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

func openBytes(t testing.TB, b []byte) *Reader {
	t.Helper()
	r, err := Open(bytes.NewReader(b), int64(len(b)), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func cellLines(t testing.TB, s *Scanner) []byte {
	t.Helper()
	var out []byte
	for s.Next() {
		out = append(AppendCellText(out, s.Cell()), '\n')
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReadGolden checks that a scan of HBase's own files returns the cells that
// HBase wrote.
func TestReadGolden(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(goldenDir, c.name+".hfile"))
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join(goldenDir, c.input+".cells"))
			if err != nil {
				t.Fatal(err)
			}
			r := openBytes(t, b)
			if got := cellLines(t, r.Scan()); !bytes.Equal(got, want) {
				t.Fatal("cells differ")
			}
			for _, cell := range readCells(t, c.input) {
				if ok, err := r.MayContain(cell.Row, cell.Qualifier); err != nil || !ok {
					t.Fatalf("bloom filter misses %q: %v", cell.Row, err)
				}
				s := r.SeekRow(cell.Row)
				if !s.Next() || !bytes.Equal(s.Cell().Row, cell.Row) {
					t.Fatalf("seek to %q: %v", cell.Row, s.Err())
				}
			}
		})
	}
}

func randomCell() *rapid.Generator[Cell] {
	small := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00\xff")), 0, 5)
	return rapid.Custom(func(t *rapid.T) Cell {
		c := Cell{
			Row:       rapid.OneOf(small, rapid.SliceOfN(rapid.Byte(), 0, 300)).Draw(t, "row"),
			Family:    []byte("fam"),
			Qualifier: rapid.OneOf(small, rapid.SliceOfN(rapid.Byte(), 0, 200)).Draw(t, "qualifier"),
			Timestamp: rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, LatestTimestamp)).Draw(t, "timestamp"),
			Type:      rapid.SampledFrom([]Type{Put, Put, Delete, DeleteColumn, DeleteFamily, DeleteFamilyVersion}).Draw(t, "type"),
			Value:     rapid.OneOf(small, rapid.SliceOfN(rapid.Byte(), 0, 2000)).Draw(t, "value"),
		}
		if rapid.IntRange(0, 4).Draw(t, "tagged") == 0 {
			c.Tags = append([]byte{0, 3, 70}, 1, 2)
		}
		return c
	})
}

// TestRoundTrip writes random cells under random settings and reads them back.
func TestRoundTrip(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(randomCell(), 1, 80).Draw(t, "cells")
		slices.SortStableFunc(cells, func(a, b Cell) int { return Compare(&a, &b) })
		o := Options{
			Compression:    Compression(rapid.IntRange(0, len(codecNames)-1).Draw(t, "compression")),
			Encoding:       Encoding(rapid.IntRange(0, len(encodingNames)-1).Draw(t, "encoding")),
			Bloom:          BloomType(rapid.IntRange(0, len(bloomNames)-1).Draw(t, "bloom")),
			BloomPrefix:    2,
			Checksum:       ChecksumType(rapid.IntRange(0, 2).Draw(t, "checksum")),
			BlockSize:      rapid.SampledFrom([]int{1, 300, 0}).Draw(t, "block size"),
			IndexBlockSize: rapid.SampledFrom([]int{128, 0}).Draw(t, "index block size"),
			BloomBlockSize: rapid.SampledFrom([]int{128, 0}).Draw(t, "bloom block size"),
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, o)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for i := range cells {
			want = append(AppendCellText(want, &cells[i]), '\n')
			if err := w.Append(&cells[i]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()), ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Scan()
		var got []byte
		for s.Next() {
			got = append(AppendCellText(got, s.Cell()), '\n')
		}
		if s.Err() != nil || !bytes.Equal(got, want) {
			t.Fatalf("cells differ, error %v", s.Err())
		}
		row := rapid.SampledFrom(cells).Draw(t, "sought").Row
		at := slices.IndexFunc(cells, func(c Cell) bool { return bytes.Equal(c.Row, row) })
		s = r.SeekRow(row)
		if !s.Next() || Compare(s.Cell(), &cells[at]) != 0 {
			t.Fatalf("seek to %q: %v", row, s.Err())
		}
		for i, c := range cells {
			if ok, err := r.MayContain(c.Row, c.Qualifier); err != nil || !ok {
				t.Fatalf("bloom filter misses %q: %v", c.Row, err)
			}
			for i > 0 && bytes.Equal(cells[i-1].Row, c.Row) && bytes.Equal(cells[i-1].Qualifier, c.Qualifier) {
				i--
			}
			got, ok, err := r.Get(c.Row, c.Qualifier)
			if err != nil || !ok || Compare(got, &cells[i]) != 0 || !bytes.Equal(got.Value, cells[i].Value) {
				t.Fatalf("get %q:%q: %v, %v", c.Row, c.Qualifier, ok, err)
			}
			absent := append(bytes.Clone(c.Qualifier), 0)
			has := slices.ContainsFunc(cells, func(x Cell) bool { return bytes.Equal(x.Row, c.Row) && bytes.Equal(x.Qualifier, absent) })
			if _, ok, err := r.Get(c.Row, absent); err != nil || ok != has {
				t.Fatalf("get %q:%q: %v, %v", c.Row, absent, ok, err)
			}
		}
	})
}

// TestDamage changes, cuts and repeats bytes of files: a scan must end with an
// error or return exactly the cells that were written.
func TestDamage(t *testing.T) {
	rounds := 300
	if race.Reduced(t) {
		rounds = 30
	}
	for _, c := range goldenCases(t) {
		b, err := os.ReadFile(filepath.Join(goldenDir, c.name+".hfile"))
		if err != nil {
			t.Fatal(err)
		}
		want := cellLines(t, openBytes(t, b).Scan())
		rnd := rand.New(rand.NewPCG(1, uint64(len(b))))
		for range rounds {
			d := bytes.Clone(b)
			switch rnd.IntN(3) {
			case 0:
				d[rnd.IntN(len(d))] ^= byte(1 + rnd.IntN(255))
			case 1:
				d = d[:rnd.IntN(len(d))]
			case 2:
				at := rnd.IntN(len(d) - 8)
				copy(d[at:], []byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
			}
			got, err := scanAll(d)
			if err == nil && !bytes.Equal(got, want) {
				t.Fatalf("%s: damage gives other cells and no error", c.name)
			}
			if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("%s: damage gives %v", c.name, err)
			}
		}
	}
}

func scanAll(b []byte) ([]byte, error) {
	r, err := Open(bytes.NewReader(b), int64(len(b)), ReaderOptions{MaxBlock: 16 << 20})
	if err != nil {
		return nil, err
	}
	s := r.Scan()
	var out []byte
	for s.Next() {
		out = append(AppendCellText(out, s.Cell()), '\n')
	}
	if _, err := r.MayContain([]byte("a"), []byte("b")); err != nil {
		return nil, err
	}
	k := r.SeekRow([]byte("b"))
	k.Next()
	return out, errors.Join(s.Err(), k.Err())
}

func FuzzReader(f *testing.F) {
	for _, c := range goldenCases(f) {
		b, err := os.ReadFile(filepath.Join(goldenDir, c.name+".hfile"))
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 30_000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = scanAll(b) })
}

func BenchmarkReader(b *testing.B) {
	s, keys, rows, size := checkRows(20_000)
	var out bytes.Buffer
	w, err := NewRowWriter(&out, Options{Family: []byte("f"), Compression: CompressionSnappy, Encoding: EncodingFastDiff, Bloom: BloomRow}, s)
	if err != nil {
		b.Fatal(err)
	}
	for i, k := range keys {
		if err := w.AppendRow(k, rows[i]); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		r := openBytes(b, out.Bytes())
		s := r.Scan()
		for s.Next() {
		}
		if s.Err() != nil {
			b.Fatal(s.Err())
		}
	}
	b.ReportMetric(float64(b.N)*20_000*18/b.Elapsed().Seconds(), "cells/s")
}

func ExampleOpen() {
	b, err := os.ReadFile(filepath.Join(goldenDir, "single-snappy-fastdiff-row.hfile"))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := Open(bytes.NewReader(b), int64(len(b)), ReaderOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := r.Scan()
	for s.Next() {
		c := s.Cell()
		fmt.Printf("%s %s:%s %d %s %s\n", c.Row, c.Family, c.Qualifier, c.Timestamp, c.Type, c.Value)
	}
	// Output: 唯一 cf:列 1700000000000 Put 值
}

// TestMetaIsTheCallers checks that changes of the metadata do not reach the reader.
func TestMetaIsTheCallers(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{})
	testcheck.Must(t, err)
	testcheck.Must(t, w.Append(&Cell{Row: []byte("a"), Family: []byte("f"), Type: Put}))
	_, err = w.Finish()
	testcheck.Must(t, err)
	r, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()), ReaderOptions{})
	testcheck.Must(t, err)
	for _, v := range r.Meta().Info {
		for i := range v {
			v[i] = 0xff
		}
	}
	if first, last, err := r.Rows(); err != nil || string(first) != "a" || string(last) != "a" {
		t.Errorf("%q to %q, %v", first, last, err)
	}
}
