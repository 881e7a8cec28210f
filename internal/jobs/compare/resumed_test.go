package compare

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
)

// stopped runs a comparison that is stopped after a few ranges, and returns its journal's contents and its directory.
func stopped(t *testing.T, req Request, o Options) (checkpoint.History, string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	asked := 0
	o.Gate = gate(func() {
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
	h, err := checkpoint.HistoryOf(records)
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
