package job

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/manifest"
	"bulkload/pkg/loader"
)

// TestUndecidedHint checks that a load of a directory, whose files have their timestamps, is not advised to give one, and that files that were moved
// out of their directory are not said to load again.
func TestUndecidedHint(t *testing.T) {
	for key, want := range map[string]string{"id": "give `restart` `timestamp` 5, which", "": "give `restart`, which"} {
		st := &checkpoint.Job{Log: &journal.Journal{}, History: checkpoint.History{Plan: &checkpoint.PlanRecord{Key: key}}}
		if got := undecidedHint(&loader.UnknownOutcomeError{}, st, &manifest.Manifest{Timestamp: 5}, false); !strings.Contains(got.String(), want) {
			t.Errorf("key %q: %s, want %s", key, got, want)
		}
		if got := undecidedHint(&loader.UnknownOutcomeError{}, st, &manifest.Manifest{}, true); got.String() != "" {
			t.Errorf("key %q, moved files: %s", key, got)
		}
	}
}
