package compare

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen/rowkey"
)

// stopped runs a comparison that is stopped after a few ranges, and returns its journal's contents and its directory.
func stopped(t *testing.T, req Request, o Options) (history.History, string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	on, asked := false, 0
	o.Events.OnPhase = func(name string) { on = name == "compare" }
	o.Gate = gate(func() {
		if !on {
			return // HFiles of an export are built
		}
		if asked++; asked > 4 {
			stop()
		}
	})
	if _, err := Run(ctx, req, o); err == nil {
		t.Fatal("it was not stopped")
	}
	dirs, err := filepath.Glob(filepath.Join(o.State.Dir, "*", journal.FileName))
	if testcheck.Must(t, err); len(dirs) != 1 {
		t.Fatalf("journals %q", dirs)
	}
	f, err := os.Open(dirs[0])
	testcheck.Must(t, err)
	defer f.Close()
	records, err := journal.Read(f)
	testcheck.Must(t, err)
	h, err := history.Of(records)
	if testcheck.Must(t, err); h.Comparing == nil || len(h.Compared) == 0 || len(h.Compared) > len(h.Comparing.Cuts) {
		t.Fatalf("%d ranges are compared", len(h.Compared))
	}
	return h, filepath.Dir(dirs[0])
}

// resumable returns options with which two directories are compared in many ranges, one after another.
func resumable(t *testing.T) Options {
	o := Options{State: checkpoint.Options{Dir: t.TempDir()}, RangeBytes: 1 << 10}
	o.SpillDir, o.Workers = t.TempDir(), 1
	return o
}

// TestCompareFilesReplaced checks that ranges of an earlier attempt do not count if a directory has other files of the same names and sizes since.
func TestCompareFilesReplaced(t *testing.T) {
	t.Parallel()
	m, o := newMade(t), resumable(t)
	one := m.export("one.csv", text())
	other := m.export("other.csv", strings.Replace(text(), "\naaa,value", "\naaa,valuX", 1))
	a, b := m.hfiles("a", hfile.CompressionNone, one, "c", "m"), m.hfiles("b", hfile.CompressionNone, one, "c", "m")
	req := Request{A: a, B: b, Versions: 1}
	stopped(t, req, o)
	m.hfiles("b", hfile.CompressionNone, other, "c", "m")
	for _, say := range []string{"resumed", "again"} {
		if r, err := Run(t.Context(), req, o); err != nil || r.Equal || r.Found.Changed != 1 {
			t.Errorf("%s: %+v, %v", say, r, err)
		}
	}
}

// TestCompareOtherCellsOfAnExport checks that ranges of an earlier attempt do not count if the job gives the rows of an export another timestamp since, or
// other columns: neither is in the digest of the rows.
func TestCompareOtherCellsOfAnExport(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	one := m.export("one.csv", text())
	b := m.hfiles("b", hfile.CompressionNone, one, "c", "m")
	for name, change := range map[string]func(*spec.Spec){
		"timestamp": func(s *spec.Spec) { s.Timestamp += 5 },
		"family":    func(s *spec.Spec) { s.Family = "g" },
		"mapping": func(s *spec.Spec) {
			s.Mapping = spec.Mapping{Cells: []spec.CellSpec{{Column: "id"}, {Column: "v", Qualifier: "w"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := one.Spec()
			change(&s)
			other := jobtest.Resolve(t, s)
			for _, c := range []struct {
				first, then *spec.Job
				equal       bool
			}{{&other, &one, true}, {&one, &other, false}} {
				o := resumable(t)
				req := Request{A: Side{Export: c.first, Env: m.env}, B: b, Versions: 1, Timestamps: true}
				stopped(t, req, o)
				req.A.Export = c.then
				if r, err := Run(t.Context(), req, o); err != nil || r.Equal != c.equal || !c.equal && r.Found.Rows() != 2000 {
					t.Errorf("resumed: %+v, %v", r, err)
				}
			}
		})
	}
}

// TestCompareListsOfEarlierAttempts checks that a resumed comparison lists the rows that differ, and no others: if the earlier attempt had a lower
// limit, and if it was killed after it had listed a range that shows no difference when it is read again.
func TestCompareListsOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	one := m.export("one.csv", text())
	other := m.export("other.csv", strings.NewReplacer("\naaa,value", "\naaa,valuX", "\naab,value", "\naab,valuX").Replace(text()))
	req := Request{A: m.hfiles("a", hfile.CompressionNone, one, "c", "m"), B: m.hfiles("b", hfile.CompressionNone, other, "c", "m"), Versions: 1}
	for name, c := range map[string]struct {
		limit int
		stale bool
	}{"a lower limit": {1, false}, "a list without its record": {0, true}} {
		t.Run(name, func(t *testing.T) {
			o := resumable(t)
			o.Limit, o.Differences = c.limit, filepath.Join(t.TempDir(), "d.jsonl")
			h, dir := stopped(t, req, o)
			var found result.Differences
			for _, x := range h.Compared {
				found.Add(x.Differences)
			}
			if found.Rows() != 2 {
				t.Fatalf("%s in the ranges that are compared", found)
			}
			if c.stale {
				testcheck.Must(t, os.WriteFile(listOf(dir, len(h.Comparing.Cuts)), []byte("stale\n"), 0o600))
			}
			o.Limit = 0
			r, err := Run(t.Context(), req, o)
			testcheck.Must(t, err)
			list, err := os.ReadFile(o.Differences)
			testcheck.Must(t, err)
			if r.Listed != 2 || r.Found.Changed != 2 || bytes.Count(list, []byte("\n")) != 2 || bytes.Contains(list, []byte("stale")) {
				t.Errorf("%d rows of %d are listed: %s", r.Listed, r.Found.Changed, list)
			}
		})
	}
}

// TestRangesThatCount checks when the ranges of an earlier attempt count, and that their time for expired cells is kept then only.
func TestRangesThatCount(t *testing.T) {
	files := func(sum string) *opened { return &opened{snap: &snapshot.Snapshot{}, as: "hfiles", sum: sum} }
	scanned := &opened{scan: &tablesource.Scanned{}, as: "scan"}
	for name, c := range map[string]struct {
		b, before *opened
		kept      bool
	}{"the same files": {files("b"), files("b"), true}, "other files": {files("b"), files("c"), false}, "a scanned table": {scanned, scanned, false}} {
		now := time.UnixMilli(time.Now().UnixMilli())
		was := &history.ComparingRecord{A: files("a").fingerprint(), B: c.before.fingerprint(), Now: 5, Cuts: []rowkey.Key{[]byte("m")}}
		j := &run{job: &checkpoint.Job{History: history.History{Comparing: was}}, now: now, a: files("a"), b: c.b}
		j.recall()
		if c.kept {
			now = time.UnixMilli(5)
		}
		if j.kept != c.kept || !j.now.Equal(now) || j.comparing.Now != now.UnixMilli() || (len(j.comparing.Cuts) == 1) != c.kept {
			t.Errorf("%s: kept %t, time %s, %+v", name, j.kept, j.now, j.comparing)
		}
	}
	j := &run{job: &checkpoint.Job{}, a: files("a"), b: files("b")}
	if j.recall(); j.kept {
		t.Error("ranges count without an earlier attempt")
	}
}
