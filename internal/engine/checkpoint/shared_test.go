package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/test/testcheck"
)

// TestRowsThatAreNoJobs checks that a row of a state table whose name leaves the directory of jobs has no copy, and does not stop the copying of others.
func TestRowsThatAreNoJobs(t *testing.T) {
	dir := t.TempDir()
	s := &shared{root: filepath.Join(dir, "a", "b")}
	for row, copied := range map[string]bool{"t-0123456789ab": true, "../../evil": false, "../b": false, "..": false} {
		testcheck.Must(t, s.write(filepath.Join(s.root, row), &statetable.Content{}))
		if _, err := os.Stat(filepath.Join(s.root, row, journal.FileName)); (err == nil) != copied {
			t.Errorf("row %q: %v", row, err)
		}
	}
}

// TestCopiesAreAsOldAsTheirJobs checks that the copy of a journal has the time of its last record, whenever and in which order the copies are made, so
// that the newest of them is that of the newest job.
func TestCopiesAreAsOldAsTheirJobs(t *testing.T) {
	s := &shared{root: t.TempDir()}
	dir := filepath.Join(s.root, "t-0123456789ab")
	last := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	c := &statetable.Content{Records: [][]byte{[]byte(`{"seq":1,"time":"2026-11-02T03:04:05Z","event":"attempt"}`), []byte(`{"seq":2,"time":"2026-11-03T04:05:06Z","event":"done"}`)}}
	for range 2 {
		testcheck.Must(t, s.write(dir, c))
		info, err := os.Stat(filepath.Join(dir, journal.FileName))
		if testcheck.Must(t, err); !info.ModTime().Equal(last) {
			t.Errorf("%s, want %s", info.ModTime(), last)
		}
		testcheck.Must(t, os.Chtimes(filepath.Join(dir, journal.FileName), time.Time{}, time.Now()))
	}
	c.Records[1] = []byte("damaged")
	testcheck.Must(t, s.write(dir, c))
}
