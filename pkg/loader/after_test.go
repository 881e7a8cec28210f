package loader

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestAfter checks the row after others: no row is between them, and it is short enough for a scan.
func TestAfter(t *testing.T) {
	full := strings.Repeat("\xff", maxRow)
	long := strings.Repeat("a", maxRow)
	for _, c := range []struct{ row, want string }{
		{"", "\x00"}, {"a", "a\x00"}, {"\xff", "\xff\x00"},
		{long[1:], long[1:] + "\x00"}, {long, long[1:] + "b"}, {long[2:] + "\xff\xff", long[3:] + "b"}, {full[1:], full[1:] + "\x00"}, {"a" + full[1:], "b"}, {full, ""},
	} {
		row := append(make([]byte, 0, len(c.row)+8), c.row...)
		if got := After(row); string(got) != c.want || (got == nil) != (c.want == "") || string(row) != c.row || !bytes.Equal(row[:cap(row)][len(row):], make([]byte, cap(row)-len(row))) {
			t.Errorf("after %d bytes follow %d, want %d", len(c.row), len(got), len(c.want))
		}
	}
	// The order of rows of up to maxRow bytes does not change if all begin with the same bytes.
	letters := []rune("\x00a")
	testcheck.Check(t, func(t *rapid.T) {
		lead := strings.Repeat("k", maxRow-3)
		draw := func(what string) []byte {
			return []byte(lead + rapid.StringOfN(rapid.RuneFrom(letters), 0, 3, -1).Draw(t, what))
		}
		row, other := draw("row"), draw("other")
		next := After(row)
		if len(next) > maxRow || bytes.Compare(row, next) >= 0 || (bytes.Compare(other, row) > 0) != (bytes.Compare(other, next) >= 0) {
			t.Fatalf("after %q follows %q", row[len(lead):], next[min(len(lead), len(next)):])
		}
	})
}

// TestLongestRow checks that the bounds of requests for a row of the greatest length have no more bytes than HBase takes, and that a broken scan
// continues after such a row, or ends if none can follow.
func TestLongestRow(t *testing.T) {
	for _, first := range []string{"a", "\xff"} {
		row := []byte(strings.Repeat(first, maxRow))
		if r := (&load{}).cellsOf("f", row); len(r.Start) > maxRow || len(r.Stop) > maxRow || len(r.Stop) > 0 && bytes.Compare(row, r.Stop) >= 0 {
			t.Errorf("%q: from %d bytes to %d", first, len(r.Start), len(r.Stop))
		}
		var got [][]byte
		a := assembler{emit: func(r Row) error { got = append(got, r.Key); return nil }}
		if pos, read := a.resume(); pos != nil || read {
			t.Errorf("nothing was read, and it continues at %q", pos)
		}
		if _, err := a.add(appendCell(nil, string(row), Cell{Family: []byte("f")}), 1, false); err != nil || len(got) != 1 {
			t.Fatalf("%d rows, %v", len(got), err)
		}
		pos, read := a.resume()
		if !read || !slices.Equal(pos, After(row)) || len(pos) > maxRow || (pos == nil) != (first == "\xff") {
			t.Errorf("%q: it continues at %d bytes, %t", first, len(pos), read)
		}
	}
}

// TestEnds checks when the rest of a range has no row; the order of hbase:meta is another one.
func TestEnds(t *testing.T) {
	s := &scan{req: ScanRequest{Table: TableName{Qualifier: "t"}}}
	for _, c := range []struct {
		pos, stop string
		want      bool
	}{{"", "", false}, {"a", "", false}, {"", "a", false}, {"a", "b", false}, {"a\x00", "a\x00", true}, {"b", "a", true}} {
		if got := s.ends([]byte(c.pos), []byte(c.stop)); got != c.want {
			t.Errorf("from %q to %q: %t", c.pos, c.stop, got)
		}
	}
	if (&scan{}).ends([]byte("b"), []byte("a")) {
		t.Error("rows of hbase:meta are compared by their bytes")
	}
}

// TestScanOfARow checks that the scan of a row is one that servers take for a Get, wherever it continues, and that an empty row is not a whole table.
func TestScanOfARow(t *testing.T) {
	for _, pos := range []string{"r", "r\x00", ""} {
		s := &scan{req: ScanRequest{Row: []byte("r"), MaxRows: 1}}
		open, err := s.open(Region{Name: []byte("t,,1")}, []byte(pos), []byte("r\x00"))
		testcheck.Must(t, err)
		if got := open.GetScan(); string(got.GetStartRow()) != "r" || string(got.GetStopRow()) != "r" || len(got.ProtoReflect().GetUnknown()) > 0 || open.GetNumberOfRows() != 1 {
			t.Errorf("from %q: %v", pos, open)
		}
	}
	err := (&Cluster{}).Scan(t.Context(), ScanRequest{Row: []byte{}}, func(Row) error { t.Error("a row"); return nil })
	testcheck.Must(t, err)
}
