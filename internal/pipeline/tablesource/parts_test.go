package tablesource_test

import (
	"fmt"
	"slices"
	"testing"

	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/source"
)

// TestTimestamps checks that a row's timestamp is that of its newest visible cell, of whatever family, and a column's is that
// of the cell that is read.
func TestTimestamps(t *testing.T) {
	put := testsnapshot.Put
	l := newLab(t)
	l.Load(0, put("a", "f", "q", 7, "new"), put("a", "f", "q", 5, "old"), put("a", "f", "z", 6, "z"), put("a", "g", "q", 9, "g"),
		del("b", "f", "q", 99), put("b", "f", "q", 98, "gone"), put("b", "f", "z", 3, "z"))
	l.Save()
	in, err := l.input(source.Options{Columns: []string{"$timestamp:f:q", "$timestamp", "f:q", "$row", "$timestamp:g:q"}})
	testcheck.Must(t, err)
	want := []string{`"7" "9" "new" "a" "9"`, `NULL "3" NULL "b" NULL`}
	if got, _ := texts(t, in); !slices.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestParts checks that a large region is several files, whose records together are those of the region, each once and in order.
func TestParts(t *testing.T) {
	put := testsnapshot.Put
	l := newLab(t, "9")
	l.HFiles = hfile.Options{Encoding: hfile.EncodingFastDiff, BlockSize: 1 << 10}
	var low, high, few []hfile.Cell
	for i := range 3000 {
		row := fmt.Sprintf("%05d", i)
		low = append(low, put(row, "f", "a", 5, fmt.Sprint("value of ", i)), put(row, "f", "b", 5, "old"))
		if i%3 == 0 {
			high = append(high, put(row, "f", "b", 6, fmt.Sprint("new ", i)))
		}
		if i%7 == 0 {
			few = append(few, del(row, "g", "x", 9), put(row, "g", "y", 5, "y"))
		}
	}
	for _, cells := range [][]hfile.Cell{low, high, few} {
		l.Load(0, cells...)
	}
	l.Save()
	open := func(most int64) *source.Input {
		t.Helper()
		files := tablesource.NewFiles(hdfsio.Local{}, l.Root, "s", tablesource.Ref{Snapshot: "s"}, nil)
		files.PartBytes = most
		in, err := source.Open(t.Context(), func(string) (source.FS, string, error) { return files, files.Dir(), nil }, []string{"snapshot:s"},
			source.Options{Columns: []string{"$row", "f:a", "f:b", "g:y", "$timestamp"}})
		testcheck.Must(t, err)
		return in
	}
	want, size := texts(t, open(0))
	if len(want) != 3000 {
		t.Fatalf("%d records", len(want))
	}
	for _, most := range []int64{1, 5 << 10, 20 << 10, 1 << 20} {
		in := open(most)
		got, read := texts(t, in)
		if !slices.Equal(got, want) || read > size || read < size*9/10 { // a part without records has no bytes
			t.Errorf("parts of %d bytes: %d files, %d records, %d of %d bytes", most, len(in.Files()), len(got), read, size)
		}
		if n := len(in.Files()); most < 10<<10 && n < 5 || most == 1<<20 && n != 1 {
			t.Errorf("parts of %d bytes: %d files", most, n)
		}
		ids := map[uint64]bool{}
		for _, f := range in.Files() {
			ids[f.FileID] = true
		}
		if len(ids) != len(in.Files()) {
			t.Errorf("%d files have %d numbers", len(in.Files()), len(ids))
		}
	}
}
