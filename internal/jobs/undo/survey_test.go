package undo

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// TestSurvey compares a survey with a simple computation from the same cells, and the table with the markers with one that never had the load.
func TestSurvey(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		s := drawSurveyed(t, rt)
		s.holdsToPlainAccount(rt)
		compacted := s.mark(t, rt)
		s.seenWithMarkers(t, rt)
		s.seenWhenCompacted(t, rt, compacted)
	})
}

// A surveyed is a table with cells of others and of a load, and a survey of it.
type surveyed struct {
	table           *lab
	others, written []hfile.Cell
	half            int // number of the others' cells that are in older files
	versions        int
	load            *load
	snap            *snapshot.Snapshot
	survey          *result.Survey
	now, without    map[string]string // visible cells of the table, with and without the load
	rest            map[string]string // without the load, with all versions that are kept
}

// drawSurveyed makes a table and surveys it.
func drawSurveyed(t *testing.T, rt *rapid.T) *surveyed {
	s := &surveyed{}
	s.others, s.written = drawTable(rt)
	s.versions = rapid.IntRange(1, 3).Draw(rt, "versions")
	s.table = newLab(t, s.versions, "f", "g")
	s.half = rapid.IntRange(0, len(s.others)).Draw(rt, "half")
	s.table.Load(3, s.others[:s.half]...)
	s.table.Load(5, s.written...)
	s.table.Load(7, s.others[s.half:]...)
	s.load = s.table.of(s.written)
	s.snap = s.table.open()
	var err error
	s.survey, err = s.load.survey(t.Context(), s.snap, labReading())
	testcheck.Must(t, err)
	s.now, s.without = testsnapshot.Seen(append(slices.Clone(s.others), s.written...), 1), testsnapshot.Seen(s.others, 1)
	s.rest = testsnapshot.Seen(s.others, s.versions)
	return s
}

// writtenRows returns the rows of the load.
func (s *surveyed) writtenRows() map[string]bool {
	rows := map[string]bool{}
	for _, c := range s.written {
		rows[string(c.Row)] = true
	}
	return rows
}

// counts sets the counts of cells that are visible now and would be without the load.
func (s *surveyed) counts(want *result.Survey) {
	for key := range s.now {
		if strings.HasSuffix(key, " 200") {
			want.CellsSeen++
		}
	}
	restored := map[string]bool{}
	for key := range s.without {
		if _, ok := s.now[key]; !ok {
			want.CellsRestored++
			restored[key[:1]] = true
		}
	}
	want.RowsRestored = int64(len(restored))
	for row := range rowsOf(s.now) {
		if !rowsOf(s.without)[row] {
			want.RowsGone++
		}
	}
}

// countsBefore sets the counts of cells that existed before the load.
func (s *surveyed) countsBefore(want *result.Survey) {
	before := testsnapshot.Seen(slices.DeleteFunc(slices.Clone(s.others), func(c hfile.Cell) bool { return c.Timestamp > labStamp }), 1)
	for _, c := range s.written {
		found := false
		for key, value := range before {
			if strings.HasPrefix(key, fmt.Sprintf("%s %s %s ", c.Row, c.Family, c.Qualifier)) {
				found = true
				if value == string(c.Value) {
					want.CellsUnchanged++
				}
			}
		}
		if found {
			want.CellsOverwritten++
		} else {
			want.CellsAdded++
		}
	}
	for row := range s.writtenRows() {
		if rowsOf(before)[row] {
			want.RowsOverwritten++
		} else {
			want.RowsAdded++
		}
	}
}

// holdsToPlainAccount checks that the survey has the counts of a simple computation, and that nothing is refused.
func (s *surveyed) holdsToPlainAccount(rt *rapid.T) {
	want := result.Survey{Load: s.load.manifest.Digest}
	s.counts(&want)
	s.countsBefore(&want)
	want.Rest = manifest.Digest{Rows: int64(len(rowsOf(s.without))), Cells: int64(len(s.without)), Sum: s.survey.Rest.Sum}
	want.Versions = manifest.Digest{Rows: int64(len(rowsOf(s.rest))), Cells: int64(len(s.rest)), Sum: s.survey.Versions.Sum}
	got := *s.survey
	got.Table, got.Timestamp, got.Families, got.Regions = "", 0, nil, nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		rt.Fatalf("survey is\n%+v, want\n%+v", got, want)
	}
	if why := s.load.refusals(s.survey, false); len(why) > 0 {
		rt.Fatalf("refused: %v", why)
	}
}

// mark adds the files with markers to the table, and to another one whose older files and the load's were compacted before.
func (s *surveyed) mark(t *testing.T, rt *rapid.T) (compacted *lab) {
	testcheck.Must(t, s.table.FS.MkdirAll(t.Context(), "/staging", 0o755))
	rw := rewrite.New(s.table.FS, "/staging", spec.DefaultFamily, 9, new(checkpoint.Job).Check)
	files, err := s.load.write(t.Context(), s.snap, s.survey, rw, "", 0, labReading())
	testcheck.Must(t, err)
	markers := int64(0)
	compacted = newLab(t, s.versions, "f", "g")
	compacted.Load(6, testsnapshot.Compacted(append(slices.Clone(s.others[:s.half]), s.written...), s.versions, true)...)
	compacted.Load(7, s.others[s.half:]...)
	for _, f := range files {
		b := jobtest.ReadWhole(t, s.table.FS, path.Join("/staging", f.Family, path.Base(f.Path)))
		for _, to := range []*lab{s.table, compacted} {
			to.Add(to.RegionOf(f.First), f.Family, 9, b)
		}
		markers += f.Cells
	}
	families, restored := s.survey.Families, s.survey.CellsRestored
	if most := families[0].Rows + families[1].Rows + restored; markers > most || !keepsOlder(families[0], 0) && !keepsOlder(families[1], 0) && markers != most {
		rt.Fatalf("%d cells, want %d and %d markers and %d copies", markers, families[0].Rows, families[1].Rows, restored)
	}
	return compacted
}

// scanned returns the result of a scan of a snapshot, with the keys of testsnapshot.Seen.
func scanned(t *testing.T, snap *snapshot.Snapshot, view snapshot.View) map[string]string {
	t.Helper()
	seen := map[string]string{}
	testcheck.Must(t, snap.Each(t.Context(), 1, view, func(_ context.Context, _ int, sc *snapshot.Scan) error {
		for sc.Next() {
			c := sc.Cell()
			seen[testsnapshot.Key(c)] = string(c.Value)
		}
		return sc.Err()
	}))
	return seen
}

// seenWithMarkers checks that the table with the markers equals the one without the load, also in a survey, and that another undo of it is refused.
func (s *surveyed) seenWithMarkers(t *testing.T, rt *rapid.T) {
	after := s.table.open()
	if got := scanned(t, after, snapshot.View{Now: labReading().now}); !maps.Equal(got, s.rest) {
		rt.Fatalf("with markers the table is\n%q, want\n%q", got, s.rest)
	}
	again, err := s.load.survey(t.Context(), after, labReading())
	testcheck.Must(t, err)
	if again.Rest != s.survey.Rest || again.Versions != s.survey.Versions || again.CellsSeen != 0 {
		rt.Fatalf("with markers the rest is %+v with %d cells of the load, predicted was %+v", again.Rest, again.CellsSeen, s.survey.Rest)
	}
	if rows := s.writtenRows(); again.Marked != int64(len(rows)) || len(s.load.refusals(again, false)) == 0 {
		rt.Fatalf("with markers in %d of %d rows an undo is not refused", again.Marked, len(rows))
	}
}

// seenWhenCompacted checks that a compaction of the load's cells without the markers drops nothing that it would not have dropped without the load.
func (s *surveyed) seenWhenCompacted(t *testing.T, rt *rapid.T, compacted *lab) {
	older := s.others[:s.half]
	left := scanned(t, compacted.open(), snapshot.View{Versions: 1, Now: labReading().now})
	kept := testsnapshot.Compacted(older, s.versions, true)
	for key, value := range s.without {
		is := func(c hfile.Cell) bool {
			return testsnapshot.Key(&c) == key && c.Type == hfile.Put
		}
		if got, ok := left[key]; (!ok || got != value) && (!slices.ContainsFunc(older, is) || slices.ContainsFunc(kept, is)) {
			rt.Fatalf("compacted with markers elsewhere, %s is %q and should be %q", key, got, value)
		}
	}
}
