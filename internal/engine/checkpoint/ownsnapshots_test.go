package checkpoint

import (
	"fmt"
	"slices"
	"testing"

	"bulkload/internal/engine/journal"
	"bulkload/internal/test/testcheck"
)

// TestOwnSnapshots checks that the history has a snapshot from the record that names it until the one of its deletion.
func TestOwnSnapshots(t *testing.T) {
	st := &Job{History: NewHistory()}
	record := func(e Event, data any) {
		t.Helper()
		testcheck.Must(t, st.Record(e, data))
	}
	want := func(snapshots ...string) {
		t.Helper()
		var got []string
		for _, place := range st.snapshots() {
			r := st.OwnSnapshots[place]
			got = append(got, fmt.Sprintf("%s: %s of %s at %d", place, r.Snapshot, r.Table, r.Created))
		}
		if !slices.Equal(got, snapshots) {
			t.Errorf("%q, want %q", got, snapshots)
		}
	}
	rekeyed := RekeyRecord{From: "old", Snapshot: "k", Own: true, Created: 4}
	record(EventRekey, RekeyRecord{From: "old", Snapshot: "others"})
	want()
	record(EventRekey, rekeyed)
	record(EventPlan, PlanRecord{Table: "t", Tables: []PlanRecord{{Table: "x"}}})
	want("rekeyed: k of old at 4")
	testcheck.Must(t, st.ForgetSnapshot(PlaceRekeyed))
	record(EventUndoing, UndoRecord{Timestamp: 7, Snapshot: "s0", Created: 8, Tables: []UndoTable{{Table: "x", Snapshot: "s1"}}})
	want("undone 0: s0 of t at 8", "undone 1: s1 of x at 8")
	testcheck.Must(t, st.ForgetSnapshot(PlaceUndone(0)))
	testcheck.Must(t, st.ForgetSnapshot(PlaceUndone(0)))
	want("undone 1: s1 of x at 8")
	testcheck.Must(t, st.DropSnapshots(t.Context(), nil, PlaceUndone(0)))
	want("undone 1: s1 of x at 8")
	record(EventUndoing, UndoRecord{}) // earlier versions recorded the deletion of the snapshots neither before nor at the end
	want()
	record(EventUndoing, UndoRecord{Timestamp: 7, Snapshot: "s2", Created: 9})
	want("undone 0: s2 of t at 9")
	record(EventUndone, UndoneRecord{})
	want()
	record(EventRekey, rekeyed)
	want("rekeyed: k of old at 4")
	rekeyed.Snapshot = ""
	record(EventRekey, rekeyed)
	want()
}

// TestReplacingOfEarlierVersions checks that earlier versions' record of a snapshot to compare with is still read.
func TestReplacingOfEarlierVersions(t *testing.T) {
	old := func(data string) journal.Record { return journal.Record{Event: "replacing", Data: []byte(data)} }
	h := NewHistory()
	if err := h.apply(old(`{"snapshot":"cmp","created":4}`)); err == nil {
		t.Error("a snapshot of no table")
	}
	h.Plan = &PlanRecord{Table: "t"}
	testcheck.Must(t, h.apply(old(`{"snapshot":"cmp","created":4}`)))
	if r := h.OwnSnapshots[PlaceCompared]; r.Table != "t" || r.Snapshot != "cmp" || r.Created != 4 {
		t.Errorf("%+v", r)
	}
	testcheck.Must(t, h.apply(old(`{"snapshot":""}`)))
	if len(h.OwnSnapshots) != 0 {
		t.Errorf("%+v", h.OwnSnapshots)
	}
}

// TestReadTables checks that a scanned table is known like one with a snapshot until the scan is over, and leaves nothing to delete.
func TestReadTables(t *testing.T) {
	h := new(NewHistory())
	h.own(ReadSnapshotRecord{Place: "hbase:a", Snapshot: "s", Created: 5})
	h.own(ReadSnapshotRecord{Place: "hbase:b", Snapshot: "t", Created: 6})
	h.own(ReadSnapshotRecord{Place: "hbase:b", Scan: &ScanRecord{Began: 7}}) // HDFS has denied its files
	if len(h.OwnSnapshots) != 2 || len(h.snapshots()) != 1 || h.OwnSnapshots["hbase:b"].Scan.Began != 7 {
		t.Errorf("%+v, snapshots %v", h.OwnSnapshots, h.snapshots())
	}
	if err := deleteSnapshot(t.Context(), nil, h.OwnSnapshots["hbase:b"]); err != nil {
		t.Error(err)
	}
	h.own(ReadSnapshotRecord{Place: "hbase:b"})
	h.own(ReadSnapshotRecord{Place: "hbase:a"})
	if len(h.OwnSnapshots) != 0 || len(h.snapshots()) != 0 {
		t.Errorf("%+v, snapshots %v", h.OwnSnapshots, h.snapshots())
	}
}
