package checkpoint

import (
	"bulkload/internal/engine/history"
	"bulkload/internal/test/testcheck"
	"fmt"
	"slices"
	"testing"
)

// TestReadTables checks that a scanned table is known like one with a snapshot until the scan is over, and leaves nothing to delete.
func TestReadTables(t *testing.T) {
	h := &Job{History: history.New()}
	own := func(r history.ReadSnapshotRecord) { testcheck.Must(t, h.Record(history.EventReadSnapshot, r)) }
	own(history.ReadSnapshotRecord{Place: "hbase:a", Snapshot: "s", Created: 5})
	own(history.ReadSnapshotRecord{Place: "hbase:b", Snapshot: "t", Created: 6})
	own(history.ReadSnapshotRecord{Place: "hbase:b", Scan: &history.ScanRecord{Began: 7}}) // HDFS has denied its files
	if len(h.OwnSnapshots) != 2 || len(h.SnapshotPlaces()) != 1 || h.OwnSnapshots["hbase:b"].Scan.Began != 7 {
		t.Errorf("%+v, snapshots %v", h.OwnSnapshots, h.SnapshotPlaces())
	}
	if err := deleteSnapshot(t.Context(), nil, h.OwnSnapshots["hbase:b"]); err != nil {
		t.Error(err)
	}
	own(history.ReadSnapshotRecord{Place: "hbase:b"})
	own(history.ReadSnapshotRecord{Place: "hbase:a"})
	if len(h.OwnSnapshots) != 0 || len(h.SnapshotPlaces()) != 0 {
		t.Errorf("%+v, snapshots %v", h.OwnSnapshots, h.SnapshotPlaces())
	}
}

// TestOwnSnapshots checks that the history has a snapshot from the record that names it until the one of its deletion.
func TestOwnSnapshots(t *testing.T) {
	st := &Job{History: history.New()}
	record := func(e history.Event, data any) {
		t.Helper()
		testcheck.Must(t, st.Record(e, data))
	}
	want := func(snapshots ...string) {
		t.Helper()
		var got []string
		for _, place := range st.SnapshotPlaces() {
			r := st.OwnSnapshots[place]
			got = append(got, fmt.Sprintf("%s: %s of %s at %d", place, r.Snapshot, r.Table, r.Created))
		}
		if !slices.Equal(got, snapshots) {
			t.Errorf("%q, want %q", got, snapshots)
		}
	}
	rekeyed := history.RekeyRecord{From: "old", Snapshot: "k", Own: true, Created: 4}
	record(history.EventRekey, history.RekeyRecord{From: "old", Snapshot: "others"})
	want()
	record(history.EventRekey, rekeyed)
	record(history.EventPlan, history.PlanRecord{Table: "t", Tables: []history.PlanRecord{{Table: "x"}}})
	want("rekeyed: k of old at 4")
	testcheck.Must(t, st.ForgetSnapshot(history.PlaceRekeyed))
	record(history.EventUndoing, history.UndoRecord{Timestamp: 7, Snapshot: "s0", Created: 8, Tables: []history.UndoTable{{Table: "x", Snapshot: "s1"}}})
	want("undone 0: s0 of t at 8", "undone 1: s1 of x at 8")
	testcheck.Must(t, st.ForgetSnapshot(history.PlaceUndone(0)))
	testcheck.Must(t, st.ForgetSnapshot(history.PlaceUndone(0)))
	want("undone 1: s1 of x at 8")
	testcheck.Must(t, st.DropSnapshots(t.Context(), nil, history.PlaceUndone(0)))
	want("undone 1: s1 of x at 8")
	record(history.EventUndoing, history.UndoRecord{}) // earlier versions recorded the deletion of the snapshots neither before nor at the end
	want()
	record(history.EventUndoing, history.UndoRecord{Timestamp: 7, Snapshot: "s2", Created: 9})
	want("undone 0: s2 of t at 9")
	record(history.EventUndone, history.UndoneRecord{})
	want()
	record(history.EventRekey, rekeyed)
	want("rekeyed: k of old at 4")
	rekeyed.Snapshot = ""
	record(history.EventRekey, rekeyed)
	want()
}
