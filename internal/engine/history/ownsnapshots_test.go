package history

import (
	"testing"

	"bulkload/internal/engine/journal"
	"bulkload/internal/test/testcheck"
)

// TestReplacingOfEarlierVersions checks that earlier versions' record of a snapshot to compare with is still read.
func TestReplacingOfEarlierVersions(t *testing.T) {
	old := func(data string) journal.Record { return journal.Record{Event: "replacing", Data: []byte(data)} }
	h := New()
	if err := h.Apply(old(`{"snapshot":"cmp","created":4}`)); err == nil {
		t.Error("a snapshot of no table")
	}
	h.Plan = &PlanRecord{Table: "t"}
	testcheck.Must(t, h.Apply(old(`{"snapshot":"cmp","created":4}`)))
	if r := h.OwnSnapshots[PlaceCompared]; r.Table != "t" || r.Snapshot != "cmp" || r.Created != 4 {
		t.Errorf("%+v", r)
	}
	testcheck.Must(t, h.Apply(old(`{"snapshot":""}`)))
	if len(h.OwnSnapshots) != 0 {
		t.Errorf("%+v", h.OwnSnapshots)
	}
}
