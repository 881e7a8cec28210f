package undo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
)

// drawTable returns random cells of others, and the cells of the load: puts of labStamp in both families.
func drawTable(t *rapid.T) (others, written []hfile.Cell) {
	cell := func(typ hfile.Type, stamp int64) hfile.Cell {
		c := hfile.Cell{Row: []byte{'a' + byte(rapid.IntRange(0, 4).Draw(t, "row"))}, Family: []byte{'f' + byte(rapid.IntRange(0, 1).Draw(t, "family"))},
			Qualifier: []byte{'p' + byte(rapid.IntRange(0, 1).Draw(t, "qualifier"))}, Timestamp: stamp, Type: typ}
		switch typ {
		case hfile.Put:
			c.Value = []byte{byte(rapid.IntRange(0, 2).Draw(t, "value"))}
		case hfile.DeleteFamily, hfile.DeleteFamilyVersion:
			c.Qualifier = nil
		}
		return c
	}
	types := []hfile.Type{hfile.Put, hfile.Put, hfile.Put, hfile.Put, hfile.DeleteColumn, hfile.Delete, hfile.DeleteFamily, hfile.DeleteFamilyVersion}
	for range rapid.IntRange(0, 30).Draw(t, "others") {
		stamp := rapid.SampledFrom([]int64{100, 110, 150, 250, 300}).Draw(t, "stamp")
		others = append(others, cell(rapid.SampledFrom(types).Draw(t, "type"), stamp))
	}
	for range rapid.IntRange(1, 12).Draw(t, "written") {
		written = append(written, cell(hfile.Put, labStamp))
	}
	once := func(cells []hfile.Cell) []hfile.Cell { // the order of equal cells is undefined
		slices.SortStableFunc(cells, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
		return slices.CompactFunc(cells, func(a, b hfile.Cell) bool { return hfile.Compare(&a, &b) == 0 })
	}
	return once(others), once(written)
}

// rowsOf returns the rows of visible cells.
func rowsOf(seen map[string]string) map[string]bool {
	rows := map[string]bool{}
	for key := range seen {
		rows[key[:1]] = true
	}
	return rows
}

// TestJobsWithoutALoad checks the errors for jobs that changed no existing table, done or not, which do not advise to repeat their commands.
func TestJobsWithoutALoad(t *testing.T) {
	for want, h := range map[string]history.History{
		"job x exported table t, which was only read: there is no load to take out":            {Exporting: &history.ExportingRecord{Table: "t"}, Finished: true},
		"job x compared tables, which were only read: a repair of one is a job of its own":     {Comparing: &history.ComparingRecord{Table: "t"}, Finished: true},
		"job x gave rows new keys in a new table: drop that one, table t was only read":        {Rekey: &history.RekeyRecord{From: "t"}, Plan: &history.PlanRecord{}, Finished: true},
		"job x made a table to replace table t: name that one in the readers' job files again": {Fresh: &history.FreshRecord{From: "t"}, Plan: &history.PlanRecord{}},
		// an index is loaded after its table
		"job x loaded several clusters: undo the job of each, in this order, with its configuration: 000000000002, 000000000001, 000000000004, 000000000003": {Clusters: map[string]result.Cluster{
			"": {Jobs: []string{"/s/t-000000000001", "/s/i-000000000002"}}, "/conf": {Jobs: []string{"/s/t-000000000003", "/s/i-000000000004"}}}},
	} {
		_, err := loadsOf("state/x", &h)
		_, before := loadBefore("state/x", &h)
		if err == nil || before == nil || err.Error() != want || before.Error() != want || fail.KindOf(err) != fail.Check {
			t.Errorf("%v and %v, want %s", err, before, want)
		}
	}
}

// TestRefusals checks that each kind of unproven survey is refused with its reason.
func TestRefusals(t *testing.T) {
	written := manifest.Digest{Rows: 10, Cells: 20, Sum: 7}
	l := &load{stamp: labStamp, manifest: &manifest.Manifest{Digest: written}}
	family := func(versions int, compacted, deletes int64) result.Survey {
		return result.Survey{Load: written, Families: []result.SurveyFamily{{Family: "f", Versions: versions, Cells: 20, Compacted: compacted, Deletes: deletes}}}
	}
	with := func(s result.Survey, change func(*result.Survey)) result.Survey { change(&s); return s }
	for name, c := range map[string]struct {
		survey     result.Survey
		others     int
		insertOnly bool
		want       string
	}{
		"one version, as it was loaded":          {family(1, 0, 0), 0, false, ""},
		"one version, compacted":                 {family(1, 1, 0), 0, false, "keeps one version, and a compaction rewrote 1 of the load's 20 cells"},
		"one version, compacted, rows were new":  {family(1, 1, 0), 0, true, ""},
		"one version, others undone":             {family(1, 1, 0), 1, false, "with fewer than 3 versions"},
		"two versions, compacted":                {family(2, 20, 0), 0, false, ""},
		"two versions, another undone":           {family(2, 20, 0), 1, false, "1 other timestamps were undone"},
		"two versions, as loaded, others undone": {family(2, 0, 0), 5, false, ""},
		"three versions, another undone":         {family(3, 20, 0), 1, false, ""},
		"one version past the TTL, as loaded":    {with(family(3, 0, 0), func(s *result.Survey) { s.Families[0].MinVersions = 1 }), 0, false, ""},
		"one version past the TTL, compacted":    {with(family(3, 1, 0), func(s *result.Survey) { s.Families[0].MinVersions = 1 }), 0, false, "family f (past its TTL, by MIN_VERSIONS) keeps one version, and a compaction"},
		"two past the TTL, another undone":       {with(family(3, 1, 0), func(s *result.Survey) { s.Families[0].MinVersions = 2 }), 1, false, "(past its TTL, by MIN_VERSIONS) keeps 2 versions, a compaction"},
		"two past the TTL, compacted":            {with(family(3, 1, 0), func(s *result.Survey) { s.Families[0].MinVersions = 2 }), 0, false, ""},
		"one past the TTL, deleted cells kept":   {with(family(3, 0, 0), func(s *result.Survey) { f := &s.Families[0]; s.RowsRestored, f.KeepDeleted, f.MinVersions = 1, true, 1 }), 0, false, "(past its TTL, by MIN_VERSIONS) has KEEP_DELETED_CELLS and keeps 1 versions"},
		"versions deleted":                       {family(3, 20, 2), 0, false, "in 2 rows of family f markers delete single versions"},
		"versions deleted, as loaded":            {family(3, 0, 2), 0, false, ""},
		"deleted cells kept":                     {with(family(1, 0, 0), func(s *result.Survey) { s.RowsRestored, s.Families[0].KeepDeleted = 1, true }), 0, false, "has KEEP_DELETED_CELLS and keeps 1 versions"},
		"deleted cells kept, two versions":       {with(family(2, 0, 0), func(s *result.Survey) { s.RowsRestored, s.Families[0].KeepDeleted = 1, true }), 0, false, ""},
		"deleted cells kept, rows were new":      {with(family(1, 0, 0), func(s *result.Survey) { s.Families[0].KeepDeleted = true }), 0, false, ""},
		"rows were there":                        {with(family(1, 0, 0), func(s *result.Survey) { s.RowsOverwritten = 3 }), 0, true, "`insert_only` is given, but 3 rows were there"},
		"other columns":                          {with(family(1, 0, 0), func(s *result.Survey) { s.Foreign = 1 }), 0, false, "1 row in other columns"},
		"fewer cells":                            {with(family(1, 0, 0), func(s *result.Survey) { s.Load.Cells-- }), 0, false, "10 rows, 19 cells"},
		"other values":                           {with(family(1, 0, 0), func(s *result.Survey) { s.Load.Sum++ }), 0, false, "others wrote with this timestamp"},
		"marked":                                 {with(family(1, 0, 0), func(s *result.Survey) { s.Marked = 4 }), 0, false, "in 4 rows a marker already deletes timestamp 200"},
	} {
		var got []string
		l.others = c.others
		for _, why := range l.refusals(&c.survey, c.insertOnly) {
			got = append(got, why.String())
		}
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestForeign checks that cells of the timestamp that the job cannot have written are counted.
func TestForeign(t *testing.T) {
	l := newLab(t, 1, "f")
	put := func(row, qualifier, value string) hfile.Cell {
		return hfile.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: labStamp, Type: hfile.Put, Value: []byte(value)}
	}
	written := []hfile.Cell{put("a", "p", "1"), put("b", "q", "2"), put("d", "p", "3")}
	l.Load(5, written...)
	load := l.of(written)
	for name, c := range map[string]struct {
		cell    hfile.Cell
		foreign int64
	}{
		"another row": {put("e", "p", "x"), 0}, "another column": {put("a", "zz", "x"), 1}, "another cell of a row": {put("a", "q", "x"), 0},
	} {
		more := newLab(t, 1, "f")
		more.Load(5, written...)
		more.Load(6, c.cell)
		s, err := load.survey(t.Context(), more.open(), labReading())
		testcheck.Must(t, err)
		if s.Foreign != c.foreign || exactlyWritten(s, load.manifest.Digest) {
			t.Errorf("%s: %d foreign rows, %s is taken for %s", name, s.Foreign, s.Load, load.manifest.Digest)
		}
	}
	s, err := load.survey(t.Context(), l.open(), reading{workers: 1, keys: 2, now: labReading().now})
	testcheck.Must(t, err)
	if !exactlyWritten(s, load.manifest.Digest) {
		t.Errorf("the load's own rows are taken for others': %+v", s)
	}
	if n := len(s.Regions[0].Keys) + len(s.Regions[1].Keys); n != 2 || s.Regions[0].Keys[0] != (result.Key{Row: "a"}) {
		t.Errorf("named are %+v", s.Regions)
	}
}

// TestUndoBeforeUndo checks that cells of a load next to the markers of a later one count as loaded while their own files are unchanged.
func TestUndoBeforeUndo(t *testing.T) {
	put := func(row string, stamp int64) hfile.Cell {
		return hfile.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte("p"), Timestamp: stamp, Type: hfile.Put, Value: fmt.Append(nil, stamp)}
	}
	oldest, first, second := []hfile.Cell{put("a", 50), put("d", 50)}, []hfile.Cell{put("a", 100), put("d", 100)}, []hfile.Cell{put("a", labStamp), put("d", labStamp)}
	undone := []hfile.Cell{{Row: []byte("a"), Family: []byte("f"), Timestamp: labStamp, Type: hfile.DeleteFamilyVersion}, {Row: []byte("d"), Family: []byte("f"), Timestamp: labStamp, Type: hfile.DeleteFamilyVersion}}
	load := newLab(t, 1, "f").of(first)
	load.stamp = 100
	for name, c := range map[string]struct {
		files     [][]hfile.Cell
		compacted int64
	}{
		"as they were loaded": {[][]hfile.Cell{oldest, first, second, append(slices.Clone(undone), first...)}, 0},
		"compacted":           {[][]hfile.Cell{append(slices.Clone(first), oldest...), second, append(slices.Clone(undone), first...)}, 2},
		"the markers alone":   {[][]hfile.Cell{second, append(slices.Clone(undone), first...)}, 2},
	} {
		l := newLab(t, 1, "f")
		for i, cells := range c.files {
			l.Load(3+i, cells...)
		}
		s, err := load.survey(t.Context(), l.open(), labReading())
		testcheck.Must(t, err)
		if s.Families[0].Compacted != c.compacted || !exactlyWritten(s, load.manifest.Digest) || s.CellsSeen != 2 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestNothingAllocates checks that there are no allocations per row or cell.
func TestNothingAllocates(t *testing.T) {
	if race.On {
		t.Skip("the race detector allocates")
	}
	l := newLab(t, 2, "f", "g")
	var cells []hfile.Cell
	for _, family := range l.Families {
		for _, qualifier := range []string{"p", "q"} {
			for _, stamp := range []int64{300, labStamp, 100} {
				cells = append(cells, hfile.Cell{Row: []byte("a"), Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: stamp, Type: hfile.Put, Value: []byte("v")})
			}
		}
	}
	l.Load(5, cells...)
	r := newReader(l.of(cells[:1]), l.open(), labReading().now)
	row := func() {
		r.startRow(cells[0].Row)
		for i := range cells {
			if err := r.cell(&cells[i], true); err != nil {
				t.Fatal(err)
			}
		}
		r.endRow()
	}
	row() // reserves space
	if n := testing.AllocsPerRun(100, row); n > 0 {
		t.Errorf("%g allocations a row", n)
	}
	if r.part.Foreign > 0 || r.part.RowsOverwritten != 102 {
		t.Errorf("read are %+v", r.part)
	}
}
