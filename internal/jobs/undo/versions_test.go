package undo

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/tsuna/gohbase/pb"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// rewritten adds a file that a compaction has written.
func (l *lab) rewritten(cells ...hfile.Cell) {
	l.Add(l.RegionOf(cells[0].Row), "f", 0, testsnapshot.HFile(l.t, l.HFiles, cells...))
}

// keepsExpired has the families keep one version past a lifetime of 9 seconds.
func (l *lab) keepsExpired() *lab {
	for _, f := range l.Schema.ColumnFamilies {
		f.Attributes = append(f.Attributes, &pb.BytesBytesPair{First: []byte("MIN_VERSIONS"), Second: []byte("1")}, &pb.BytesBytesPair{First: []byte("TTL"), Second: []byte("9")})
	}
	return l
}

// TestMinVersions checks an undo of a load over a cell that readers see past its lifetime, by MIN_VERSIONS: a compaction of both drops it, whatever
// VERSIONS is. The undo is refused after such a compaction, and its files have a copy for those to come.
func TestMinVersions(t *testing.T) {
	old, now, other := testsnapshot.Put("a", "f", "p", 100, "before"), testsnapshot.Put("a", "f", "p", labStamp, "night"), testsnapshot.Put("b", "f", "p", 150, "other row")
	o := reading{workers: 1, now: time.UnixMilli(9_150)} // the lifetime of old has ended
	l, compacted := newLab(t, 3, "f").keepsExpired(), newLab(t, 3, "f").keepsExpired()
	l.Load(3, old)
	l.Load(5, now)
	compacted.rewritten(now, other)
	load := l.of([]hfile.Cell{now})
	s, err := load.survey(t.Context(), compacted.open(), o)
	testcheck.Must(t, err)
	if why := load.refusals(s, false); len(why) != 1 || !strings.Contains(why[0].String(), "family f (past its TTL, by MIN_VERSIONS) keeps one version, and a compaction rewrote 1 of the load's 1 cells") {
		t.Errorf("compacted: %v", why)
	}
	snap := l.open()
	s, err = load.survey(t.Context(), snap, o)
	testcheck.Must(t, err)
	if why := load.refusals(s, false); len(why) > 0 || s.CellsRestored != 1 {
		t.Fatalf("refused: %v, %+v", why, s)
	}
	testcheck.Must(t, l.FS.MkdirAll(t.Context(), "/staging", 0o755))
	rw := rewrite.New(l.FS, "/staging", spec.DefaultFamily, 9, new(checkpoint.Job).Check)
	files, err := load.write(t.Context(), snap, s, rw, "", 0, o)
	if testcheck.Must(t, err); len(files) != 1 || files[0].Cells != 2 {
		t.Fatalf("%+v", files)
	}
	compacted.Add(0, "f", 9, jobtest.ReadWhole(t, l.FS, path.Join("/staging/f", path.Base(files[0].Path))))
	got := scanned(t, compacted.open(), snapshot.View{Versions: 1, Now: o.now})
	if len(got) != 2 || got[testsnapshot.Key(&old)] != "before" {
		t.Errorf("after a compaction without the markers readers see %q", got)
	}
}

// TestLoadedTwice checks cells whose timestamp was loaded again after a compaction had rewritten the first load, which dropped what it had overwritten: the
// second load shows nothing of that. Copies that an undo of a later load has written come before the load's cells, and count for nothing.
func TestLoadedTwice(t *testing.T) {
	night := testsnapshot.Put("a", "f", "p", labStamp, "night")
	other := testsnapshot.Put("a", "f", "p", 150, "before")
	copied := []hfile.Cell{night, testsnapshot.Put("a", "f", "p", 300, "later")}
	load := newLab(t, 1, "f").of([]hfile.Cell{night})
	for name, c := range map[string]struct {
		files     func(*lab)
		compacted int64
	}{
		"loaded twice":                  {func(l *lab) { l.Load(3, other); l.Load(5, night); l.Load(9, night) }, 0},
		"compacted, loaded again":       {func(l *lab) { l.rewritten(night); l.rewritten(night, other); l.Load(9, night); l.Load(10, night) }, 1},
		"compacted, the second copied":  {func(l *lab) { l.rewritten(night, other); l.Load(9, night); l.Load(12, copied...) }, 1},
		"loaded twice, then copied":     {func(l *lab) { l.Load(5, night); l.Load(9, night); l.Load(12, copied...) }, 0},
		"copied, the first one rewrote": {func(l *lab) { l.rewritten(night, other); l.Load(12, copied...) }, 1},
	} {
		l := newLab(t, 1, "f")
		c.files(l)
		s, err := load.survey(t.Context(), l.open(), labReading())
		testcheck.Must(t, err)
		if f := s.Families[0]; f.Cells != 1 || f.Compacted != c.compacted || len(load.refusals(s, false)) != int(c.compacted) {
			t.Errorf("%s: %+v, refused %v", name, f, load.refusals(s, false))
		}
	}
}
