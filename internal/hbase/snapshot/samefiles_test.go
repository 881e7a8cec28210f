package snapshot

import (
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
)

// TestSameFiles checks that two snapshots have the same files until one is added, and that a scan of a range returns the same
// cells as scans of its regions.
func TestSameFiles(t *testing.T) {
	put := testsnapshot.Put
	table := testsnapshot.New(t, testsnapshot.Options{Splits: []string{"m"}})
	open := func() *Snapshot {
		table.Save()
		s, err := Open(t.Context(), table.FS, table.Root, table.Snapshot)
		testcheck.Must(t, err)
		return s
	}
	empty := open()
	table.Load(1, put("a", "f", "q", 5, "1"), put("x", "f", "q", 5, "2"))
	first := open()
	if empty.SameFiles(first) || first.SameFiles(empty) {
		t.Error("the first file is not seen")
	}
	if again := open(); !first.SameFiles(again) || !again.SameFiles(first) {
		t.Error("the same files are others")
	}
	table.Load(2, put("b", "f", "q", 5, "3"))
	second := open()
	if first.SameFiles(second) || second.SameFiles(first) {
		t.Error("a file that was added is not seen")
	}
	rows := ""
	scan := second.ScanRange(t.Context(), View{Start: []byte("b"), Stop: []byte("xx")})
	for scan.Next() {
		rows += string(scan.Cell().Row)
	}
	testcheck.Must(t, scan.Err())
	testcheck.Must(t, scan.Close())
	if rows != "bx" {
		t.Errorf("the range has rows %q, want bx", rows)
	}
}
