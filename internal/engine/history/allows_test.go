package history

import (
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/build"
)

// TestLimitOfBadRecords checks that another limit of bad records is accepted only if it allows those of the files that are built, also by an engine that
// records no sort; and none while the job is on YARN, which judges by its own.
func TestLimitOfBadRecords(t *testing.T) {
	built, sorted, submitted := New(), New(), New()
	built.Built = &manifest.Manifest{Records: 1000, Rejected: 50}
	sorted.Sorted = &build.SortedRecord{}
	sorted.Sorted.Records, sorted.Sorted.Rejected = 1000, 50
	submitted.Submission = &build.SubmissionRecord{}
	nothing := New()
	for name, c := range map[string]struct {
		h    *History
		want map[string]bool
	}{
		"built":     {&built, map[string]bool{"0": false, "49": false, "50": true, "5%": true, "1%": false}},
		"sorted":    {&sorted, map[string]bool{"0": false, "49": false, "50": true, "5%": true, "1%": false}},
		"submitted": {&submitted, map[string]bool{"0": false, "50": false}},
		"nothing":   {&nothing, map[string]bool{"0": true, "50": true}},
	} {
		for limit, want := range c.want {
			if got := c.h.Allows(&readingRecord{BadRecords: limit}); got != want {
				t.Errorf("%s, limit %s: %t", name, limit, got)
			}
		}
	}
}
