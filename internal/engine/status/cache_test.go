package status_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/engine/status"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/teststate"
)

// TestCacheReadsWhatChanged checks that only jobs that have changed or run are read again, and that cached states equal those of status.
func TestCacheReadsWhatChanged(t *testing.T) {
	states := teststate.States{T: t, Dir: t.TempDir()}
	running := states.Many(40, 3)
	read := 0
	c := status.Cache{Words: func(*status.State) { read++ }}
	reads := func(want int) []*status.State {
		t.Helper()
		read = 0
		jobs, err := c.ReadAll(states.Dir)
		testcheck.Must(t, err)
		if read != want {
			t.Errorf("%d are read, want %d", read, want)
		}
		return jobs
	}
	first := reads(40)
	plain, err := status.ReadAll(states.Dir)
	testcheck.Must(t, err)
	if len(plain) != len(first) {
		t.Fatalf("%d jobs, not %d", len(first), len(plain))
	}
	for i, s := range plain {
		if f := first[i]; f.Job != s.Job || f.State != s.State || f.Rows != s.Rows || f.Rejected != s.Rejected || f.Files != nil || f.Splits != nil {
			t.Errorf("%+v, want %+v", f, s)
		}
	}
	reads(3)
	failed := states.Failed("t", "new", "x")
	reads(4)
	reads(3)
	testcheck.Must(t, os.Chtimes(filepath.Join(failed, status.EndingName), time.Time{}, time.Now().Add(time.Second)))
	reads(4)
	testcheck.Must(t, os.RemoveAll(failed))
	if jobs := reads(3); len(jobs) != 40 {
		t.Errorf("%d jobs", len(jobs))
	}
	states.Says(running[0], "now-0", 99)
	if jobs := reads(3); len(jobs) != 40 {
		t.Errorf("%d jobs", len(jobs))
	}
	if _, err := c.ReadAll(filepath.Join(states.Dir, "lock")); err != nil {
		t.Errorf("a directory that is missing has no jobs: %v", err)
	}
}
