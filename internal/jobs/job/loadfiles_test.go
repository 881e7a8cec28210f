package job

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/manifest"
	"bulkload/pkg/loader"
)

// TestUndecidedHint checks that a load of a directory, whose files have their timestamps, is not advised to give one, that files that were moved
// out of their directory are not said to load again, and that a job is not advised to verify by files when each may be in the table twice.
func TestUndecidedHint(t *testing.T) {
	for _, tt := range []struct{ key, verify, want string }{
		{"id", "sample", "give `restart` `timestamp` 5, which"}, {"", "", "give `restart`, which"}, {"id", "files", "give `restart` `timestamp` 5 `verify` full, which"},
	} {
		st := &checkpoint.Job{Log: &journal.Journal{}, History: history.History{Plan: &history.PlanRecord{Key: tt.key}}}
		if got := undecidedHint(&loader.UnknownOutcomeError{}, st, &manifest.Manifest{Timestamp: 5}, tt.verify, false); !strings.Contains(got.String(), tt.want) {
			t.Errorf("key %q: %s, want %s", tt.key, got, tt.want)
		}
		if got := undecidedHint(&loader.UnknownOutcomeError{}, st, &manifest.Manifest{}, tt.verify, true); got.String() != "" {
			t.Errorf("key %q, moved files: %s", tt.key, got)
		}
	}
}
