package replace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

func labOptions() Options {
	return Options{Timestamp: labStamp, Now: time.UnixMilli(10_000)}
}

// drawTable returns random contents of the table, with cells of these timestamps, and the export.
func drawTable(t *rapid.T, stamps ...int64) (old, export []hfile.Cell) {
	cell := func(typ hfile.Type, stamp int64) hfile.Cell {
		c := hfile.Cell{Row: []byte{'a' + byte(rapid.IntRange(0, 4).Draw(t, "row"))}, Family: []byte{'f' + byte(rapid.IntRange(0, 1).Draw(t, "family"))},
			Qualifier: []byte{'p' + byte(rapid.IntRange(0, 2).Draw(t, "qualifier"))}, Timestamp: stamp, Type: typ}
		switch typ {
		case hfile.Put:
			c.Value = []byte{byte(rapid.IntRange(0, 2).Draw(t, "value"))}
		case hfile.DeleteFamily, hfile.DeleteFamilyVersion:
			c.Qualifier = nil
		}
		return c
	}
	types := []hfile.Type{hfile.Put, hfile.Put, hfile.Put, hfile.Put, hfile.Put, hfile.DeleteColumn, hfile.Delete, hfile.DeleteFamily, hfile.DeleteFamilyVersion}
	for range rapid.IntRange(0, 30).Draw(t, "old") {
		stamp := rapid.SampledFrom(stamps).Draw(t, "stamp")
		typ := rapid.SampledFrom(types).Draw(t, "type")
		if stamp >= labStamp {
			typ = hfile.Put // a delete marker as new as the export hides the export's own cells, which its verification detects
		}
		old = append(old, cell(typ, stamp))
	}
	for range rapid.IntRange(0, 15).Draw(t, "export") {
		export = append(export, cell(hfile.Put, labStamp))
	}
	once := func(cells []hfile.Cell) []hfile.Cell { // the order of equal cells is undefined
		slices.SortStableFunc(cells, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
		return slices.CompactFunc(cells, func(a, b hfile.Cell) bool { return hfile.Compare(&a, &b) == 0 })
	}
	return once(old), once(export)
}

// wantOf computes the survey in a simple way, and the rows and families that get a marker; whole hides every older cell.
func wantOf(old, export []hfile.Cell, whole bool) (want Survey, marked map[string]bool) {
	before, after := testsnapshot.Seen(old, 1), testsnapshot.Seen(export, 1)
	marked = map[string]bool{}
	rows, changed := map[string]bool{}, map[string]bool{}
	exported := map[string]bool{}
	for key := range after {
		exported[key[:1]] = true
	}
	for key := range before {
		row, family, column, stamp := key[:1], key[:3], key[:5], key[6:]
		rows[row] = true
		_, written := after[column+" 200"]
		switch {
		case stamp > "200":
			want.Newer++
			n, _ := strconv.ParseInt(stamp, 10, 64)
			want.Newest = max(want.Newest, n)
		case written && whole && stamp < "200":
			marked[family] = true
		case written:
		case stamp == "200":
			want.Foreign++
		default:
			marked[family] = true
			changed[row] = true
		}
	}
	want.Rows = int64(len(rows))
	for row := range rows {
		if !exported[row] {
			want.Deleted++
		} else if changed[row] {
			want.Changed++
		}
	}
	return want, marked
}

func sameCounts(a, b Survey) bool {
	return a.Rows == b.Rows && a.Deleted == b.Deleted && a.Changed == b.Changed && a.Newer == b.Newer && a.Newest == b.Newest && a.Foreign == b.Foreign
}

// scanOf returns what a reader of the given number of versions sees in a snapshot; 0: of all that its families keep.
func scanOf(t testing.TB, snap *snapshot.Snapshot, versions int) map[string]string {
	seen := map[string]string{}
	testcheck.Must(t, snap.Each(t.Context(), 1, snapshot.View{Versions: versions, Now: labOptions().Now}, func(_ context.Context, _ int, sc *snapshot.Scan) error {
		for sc.Next() {
			c := sc.Cell()
			seen[testsnapshot.Key(c)] = string(c.Value)
		}
		return sc.Err()
	}))
	return seen
}

// TestReplace compares a survey with a simple computation from the same cells, and the table with markers and export with one that has only the
// export, for any distribution of the export's files over regions.
func TestReplace(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		old, export := drawTable(rt, 100, 110, 150, 199)
		versions, o := rapid.SampledFrom([]int{1, 3}).Draw(rt, "versions"), labOptions()
		o.Lifetimes = rapid.Bool().Draw(rt, "lifetimes")
		l := newLab(t, versions, "f", "g")
		half := rapid.IntRange(0, len(old)).Draw(rt, "half")
		l.Load(3, old[:half]...)
		l.Load(5, old[half:]...)
		e := l.stage(export, rapid.SampledFrom([][]string{nil, {"c"}, {"b", "d"}}).Draw(rt, "cuts")...)
		snap := l.open()
		s, err := Compare(t.Context(), snap, e, o)
		testcheck.Must(t, err)
		want, marked := wantOf(old, export, o.Lifetimes || versions == 3)
		if !sameCounts(*s, want) || markersOf(s) != int64(len(marked)) {
			rt.Fatalf("survey is %+v with %d markers, want %+v with %d", s, markersOf(s), want, len(marked))
		}
		all, err := spec.ParseDeleteLimit("100%")
		testcheck.Must(t, err)
		testcheck.Must(t, s.Refuse(labStamp, all))

		testcheck.Must(t, l.FS.MkdirAll(t.Context(), "/staging", 0o755))
		files, err := s.Write(t.Context(), snap, e, rewrite.New(l.FS, "/staging", spec.DefaultFamily, 9, new(checkpoint.Job).Check), "", o)
		testcheck.Must(t, err)
		for _, f := range files {
			l.load(f, l)
		}
		if len(files) > 0 { // the markers alone hide nothing of the export
			mid := scanOf(t, l.open(), 1)
			for key, value := range testsnapshot.Seen(old, 1) {
				if _, still := mid[key]; !still && !marked[key[:3]] {
					rt.Fatalf("the markers hide %s=%q of another row", key, value)
				}
			}
		}
		l.Load(11, export...)
		if got := scanOf(t, l.open(), 0); !maps.Equal(got, testsnapshot.Seen(export, 1)) {
			rt.Fatalf("the table is\n%q, want\n%q", got, testsnapshot.Seen(export, 1))
		}

		// A compaction between the snapshot and the load shows nothing that was hidden, whether of some files, or of all, which also drops markers.
		more := newLab(t, versions, "f", "g")
		if rapid.Bool().Draw(rt, "all compacted") {
			more.Load(5, testsnapshot.Compacted(old, 1, false)...)
		} else {
			more.Load(3, testsnapshot.Compacted(old[:half], 1, true)...)
			more.Load(5, old[half:]...)
		}
		for _, f := range files {
			l.load(f, more)
		}
		more.Load(11, export...)
		if got := scanOf(t, more.open(), 0); !maps.Equal(got, testsnapshot.Seen(export, 1)) {
			rt.Fatalf("after a compaction the table is\n%q, want\n%q", got, testsnapshot.Seen(export, 1))
		}
	})
}

// load adds a staged file with markers to a table.
func (l *lab) load(f loader.HFile, into *lab) {
	l.t.Helper()
	into.Add(into.RegionOf(f.First), f.Family, 9, jobtest.ReadWhole(l.t, l.FS, path.Join("/staging", f.Family, path.Base(f.Path))))
}

// TestRefusals compares the counts of cells that would stay visible with a simple computation.
func TestRefusals(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		old, export := drawTable(rt, 100, 150, labStamp, 250)
		l := newLab(t, 1, "f", "g")
		l.Load(3, old...)
		s, err := Compare(t.Context(), l.open(), l.stage(export), labOptions())
		testcheck.Must(t, err)
		want, _ := wantOf(old, export, false)
		if !sameCounts(*s, want) {
			rt.Fatalf("survey is %+v, want %+v", s, want)
		}
		all, err := spec.ParseDeleteLimit("100%")
		testcheck.Must(t, err)
		refused := s.Refuse(labStamp, all)
		if (refused != nil) != (want.Newer+want.Foreign > 0) {
			rt.Fatalf("refused: %v, want %+v", refused, want)
		}
		if want.Newer > 0 && !strings.Contains(refused.Error(), setting.Count(want.Newer, "visible cell is")+" newer than the job's timestamp 200") {
			rt.Fatalf("refused: %v", refused)
		}
	})
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		text          string
		deleted, rows int64
		allows        bool
	}{
		{"", 5, 100, true}, {"", 6, 100, false}, {"5%", 5, 100, true}, {"0.5%", 1, 200, true}, {"0.5%", 2, 200, false},
		{"0", 0, 10, true}, {"0", 1, 10, false}, {"7", 7, 7, true}, {"7", 8, 1000, false}, {"0%", 0, 0, true}, {"", 0, 0, true}, {"100%", 3, 3, true}, {"0.57%", 57, 10_000, true}, {"0.57%", 58, 10_000, false}, {"1.13%", 113, 10_000, true},
	} {
		l, err := spec.ParseDeleteLimit(c.text)
		testcheck.Must(t, err)
		if l.Allows(c.deleted, c.rows) != c.allows {
			t.Errorf("limit %q allows %d of %d: %v, want %v", c.text, c.deleted, c.rows, !c.allows, c.allows)
		}
		s := &Survey{Deleted: c.deleted, Rows: c.rows}
		if _, is := errors.AsType[*LimitError](s.Refuse(labStamp, l)); is == c.allows {
			t.Errorf("limit %q, %d of %d: %v", c.text, c.deleted, c.rows, s.Refuse(labStamp, l))
		}
	}
	for _, text := range []string{"-1", "101%", "-1%", "x", "%", "1.5", "NaN%", "5 %"} {
		if l, err := spec.ParseDeleteLimit(text); err == nil {
			t.Errorf("limit %q is read as %+v", text, l)
		}
	}
}

// TestOverlap checks that an export whose files share rows is refused.
func TestOverlap(t *testing.T) {
	e := &Export{Files: []File{{Family: "f", Path: "/a", First: []byte("a"), Last: []byte("c")}, {Family: "f", Path: "/b", First: []byte("c"), Last: []byte("d")}}}
	if err := e.Check(); err == nil || !strings.Contains(err.Error(), "must not share rows") {
		t.Errorf("files with a common row: %v", err)
	}
	e.Files[1].Family = "g"
	testcheck.Must(t, e.Check())
}

// TestNothingAllocates checks that there are no allocations per row or cell, except for the blocks of the files.
func TestNothingAllocates(t *testing.T) {
	if race.On {
		t.Skip("the race detector allocates")
	}
	of := func(rows int) float64 {
		l := newLab(t, 1, "f", "g")
		var old, export []hfile.Cell
		for i := range rows {
			for _, family := range l.Families {
				c := hfile.Cell{Row: fmt.Appendf(nil, "a%05d", i), Family: []byte(family), Qualifier: []byte("p"), Timestamp: 100, Type: hfile.Put, Value: []byte("v")}
				old = append(old, c)
				if c.Timestamp = labStamp; i%3 > 0 {
					export = append(export, c)
				}
			}
		}
		l.Load(5, old...)
		e, snap := l.stage(export), l.open()
		return testing.AllocsPerRun(5, func() {
			if _, err := Compare(t.Context(), snap, e, labOptions()); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := of(1000), of(3000)
	if perRow := (many - few) / 2000; perRow > 0.05 {
		t.Errorf("%g allocations a row: %g with 1,000 rows, %g with 3,000", perRow, few, many)
	}
}

// markersOf returns the number of markers that make the table equal to the export.
func markersOf(s *Survey) (n int64) {
	for _, rows := range slices.Concat(s.markers...) {
		n += rows
	}
	return n
}
