package testsnapshot_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// scan returns the cells that a reader sees in a table's snapshot.
func scan(t *testing.T, table *testsnapshot.Table) map[string]string {
	t.Helper()
	table.Save()
	s, err := snapshot.Open(t.Context(), table.FS, table.Root, table.Snapshot)
	testcheck.Must(t, err)
	seen := map[string]string{}
	testcheck.Must(t, s.Each(t.Context(), 1, snapshot.View{Now: time.UnixMilli(10_000)}, func(_ context.Context, _ int, sc *snapshot.Scan) error {
		for sc.Next() {
			seen[testsnapshot.Key(sc.Cell())] = string(sc.Cell().Value)
		}
		return sc.Err()
	}))
	return seen
}

// TestTable reads tables that New creates from the zero value and from other options, with one manifest and with
// several.
func TestTable(t *testing.T) {
	put := testsnapshot.Put
	marker := put("b", "f", "q", 8, "")
	marker.Type = hfile.DeleteColumn
	first := []hfile.Cell{put("b", "f", "q", 5, "hidden"), put("a", "f", "q", 5, "old"), put("a", "f", "q", 4, "older"), put("m", "f", "r", 5, "")}
	second := []hfile.Cell{put("a", "f", "q", 7, "new"), marker}
	all := append(slices.Clone(first), second...)
	for name, o := range map[string]testsnapshot.Options{
		"the zero value": {},
		"all options": {Root: "/data/hbase", Table: "n:t.x", Families: []string{"f", "g"}, Splits: []string{"b", "m"}, Versions: 2, TTL: 1000,
			HFiles: hfile.Options{Encoding: hfile.EncodingFastDiff}, Snapshot: "daily", Created: 1_000_000},
	} {
		table := testsnapshot.New(t, o)
		table.Load(3, first...)
		table.Load(0, second...)
		want := testsnapshot.Seen(all, max(o.Versions, 1))
		if n := 1 + max(o.Versions, 1); len(want) != n || want["a f q 7"] != "new" {
			t.Fatalf("%s: %q is seen, want %d cells", name, want, n)
		}
		for _, apart := range []bool{false, true} {
			table.Apart = apart
			if got := scan(t, table); !maps.Equal(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if r := table.RegionOf([]byte("m")); r != len(o.Splits) {
			t.Errorf("%s: row m is in region %d", name, r)
		}
	}
	if kept := testsnapshot.Compacted(all, 1, false); len(kept) != 2 {
		t.Errorf("a compaction of all files keeps %v", kept)
	}
	if kept := testsnapshot.Compacted(all, 1, true); len(kept) != 3 {
		t.Errorf("a compaction of some files keeps %v", kept)
	}
}

// TestEqualCells checks that of equal cells the one of the later load is visible.
func TestEqualCells(t *testing.T) {
	table := testsnapshot.New(t, testsnapshot.Options{})
	table.Load(4, testsnapshot.Put("a", "f", "q", 5, "later"))
	table.Load(3, testsnapshot.Put("a", "f", "q", 5, "sooner"))
	if got := scan(t, table); got["a f q 5"] != "later" {
		t.Errorf("%q", got)
	}
}
