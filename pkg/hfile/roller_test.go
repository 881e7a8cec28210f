package hfile

import (
	"bytes"
	"io"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

func TestRollerEndBefore(t *testing.T) {
	for _, c := range []struct {
		max, written, first int64
		want                bool
	}{
		{100, 0, 500, false}, // the first cell of a file
		{100, 60, 39, false},
		{100, 60, 40, true}, // the limit is "at least"
		{100, 200, 1, true},
		{0, DefaultMaxFile - 10, 9, false},
		{0, DefaultMaxFile - 10, 10, true},
	} {
		if got := (Roller{Max: c.max}).EndBefore(c.written, c.first); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWritten compares the count of both writers with the cells themselves.
func TestWritten(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		s := Schema{Qualifiers: [][]byte{[]byte("a"), []byte("bb"), []byte("c")}, Timestamp: 1}
		o := Options{Family: []byte("f"), Encoding: EncodingFastDiff}
		rw, err := NewRowWriter(io.Discard, o, s)
		if err != nil {
			t.Fatal(err)
		}
		cw, err := NewWriter(io.Discard, o)
		if err != nil {
			t.Fatal(err)
		}
		var want, tags int64
		for i := range rapid.IntRange(1, 20).Draw(t, "rows") {
			row := bytes.Repeat([]byte{byte(i + 1)}, rapid.IntRange(1, 20).Draw(t, "row"))
			values := make([][]byte, 3)
			first := int64(0)
			for j := range values {
				if rapid.Bool().Draw(t, "there") {
					values[j] = make([]byte, rapid.IntRange(0, 9).Draw(t, "value"))
					c := Cell{Row: row, Family: o.Family, Qualifier: s.Qualifiers[j], Timestamp: 1, Type: Put, Value: values[j]}
					n := int64(len(appendCell(nil, EncodingNone, nil, flatOf(&c)))) - 3 // without tags length and sequence id
					if CellLen(&c) != n {
						t.Fatalf("cell of %d bytes is taken for %d", n, CellLen(&c))
					}
					if first == 0 {
						first = n
					}
					want += n
					if rapid.IntRange(0, 3).Draw(t, "tagged") == 0 {
						c.Tags = []byte{0, 2, 70, 1}
						tags += CellLen(&c) - n
						if CellLen(&c) != n+6 {
							t.Fatalf("tags of 4 bytes count %d", CellLen(&c)-n)
						}
					}
					if err := cw.Append(&c); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := rw.FirstLen(row, values); got != first {
				t.Fatalf("first cell %d, not %d", got, first)
			}
			if err := rw.AppendRow(row, values); err != nil {
				t.Fatal(err)
			}
		}
		if rw.Written() != want {
			t.Fatalf("rows: %d bytes written, not %d", rw.Written(), want)
		}
		if cw.Written() != want+tags {
			t.Fatalf("cells: %d bytes written, not %d", cw.Written(), want+tags)
		}
	})
}

func flatOf(c *Cell) *flat {
	var f flat
	f.setKey(c.Row, c.Family, c.Qualifier, c.Timestamp, c.Type)
	f.value, f.tags = c.Value, c.Tags
	return &f
}
