package compare

import (
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestRepairKeepsDeleted checks a family that keeps deleted cells: it keeps markers in every compaction, so no compaction is advised. Without
// timestamps the repair loads newer cells than the markers.
func TestRepairKeepsDeleted(t *testing.T) {
	t.Parallel()
	p := newPairOf(t, func(f *loader.Family) { f.Attributes = map[string]string{"KEEP_DELETED_CELLS": "TRUE"} })
	row, _, _ := strings.Cut(firstOf(p.seen(1, false)), "\t")
	_, err := p.admin.Run(t.Context(), "delete", p.names[1], row)
	testcheck.Must(t, err)
	req := p.request()
	req.Timestamps, req.Repair = true, true
	for attempt := range 2 {
		if _, err := p.run(req); fail.KindOf(err) != fail.Verify || !strings.Contains(err.Error(), "family f has KEEP_DELETED_CELLS") || strings.Contains(err.Error(), "major_compact") {
			t.Fatal(err)
		}
		for _, do := range []string{"flush", "major-compact"} { // which would help elsewhere
			if attempt > 0 {
				break
			}
			_, err = p.admin.Run(t.Context(), do, p.names[1])
			testcheck.Must(t, err)
		}
	}
	req.Timestamps = false
	p.o.State.Dir = t.TempDir() // not the job that failed
	if _, err := p.run(req); err != nil {
		t.Fatal(err)
	}
	if left := p.rowsThatDiffer(false); len(left) > 0 {
		t.Errorf("%d rows differ", len(left))
	}
}
