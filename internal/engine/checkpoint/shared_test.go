package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

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
