package hfile

import (
	"bytes"
	"io"
	"testing"
)

// TestAllocations limits the allocations per cell or row, including those for
// blocks, index and filters: there must be none per cell or row.
func TestAllocations(t *testing.T) {
	const n = 4000
	s, keys, rows, _ := checkRows(n)
	cells := float64(n * len(s.Qualifiers))
	for _, o := range []Options{
		{Encoding: EncodingNone, Bloom: BloomNone},
		{Encoding: EncodingPrefix, Bloom: BloomRowPrefix, BloomPrefix: 5},
		{Encoding: EncodingDiff, Bloom: BloomRowCol},
		{Encoding: EncodingFastDiff, Bloom: BloomRow, Compression: CompressionSnappy},
		{Encoding: EncodingRowIndexV1, Bloom: BloomRow, Compression: CompressionLZ4},
	} {
		o.Family = []byte("f")
		name := o.Compression.String() + " " + o.Encoding.String() + " " + o.Bloom.String()
		perRow := testing.AllocsPerRun(1, func() {
			w, err := NewRowWriter(io.Discard, o, s)
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range keys {
				if err := w.AppendRow(k, rows[i]); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.Finish(); err != nil {
				t.Fatal(err)
			}
		}) / n
		if perRow > 0.1 {
			t.Errorf("%s: %.3f allocations a row of %d cells", name, perRow, len(s.Qualifiers))
		}
		var out bytes.Buffer
		perCell := testing.AllocsPerRun(1, func() {
			out.Reset()
			w, err := NewWriter(&out, o)
			if err != nil {
				t.Fatal(err)
			}
			c := Cell{Family: o.Family, Timestamp: s.Timestamp, Type: Put}
			for i, k := range keys {
				c.Row = k
				for j, v := range rows[i] {
					c.Qualifier, c.Value = s.Qualifiers[j], v
					if err := w.Append(&c); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := w.Finish(); err != nil {
				t.Fatal(err)
			}
		}) / cells
		if perCell > 0.01 {
			t.Errorf("%s: %.4f allocations a cell written", name, perCell)
		}
		perCell = testing.AllocsPerRun(1, func() {
			s := openBytes(t, out.Bytes()).Scan()
			for s.Next() {
			}
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
		}) / cells
		if perCell > 0.01 {
			t.Errorf("%s: %.4f allocations a cell read", name, perCell)
		}
		t.Logf("%s: %.4f allocations a row written", name, perRow)
	}
}
