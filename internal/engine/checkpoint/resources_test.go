package checkpoint

import (
	"fmt"
	"slices"
	"testing"

	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/test/testcheck"
)

// TestResources checks that a resource outside the job's directory is listed from the record that begins it to the one that ends it.
func TestResources(t *testing.T) {
	st := &Job{History: NewHistory()}
	step := func(e Event, data any, want ...string) {
		t.Helper()
		testcheck.Must(t, st.Record(e, data))
		var got []string
		for _, r := range st.Resources() {
			got = append(got, fmt.Sprint(r.Kind, " ", r.Name, " ", r.Table))
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %s: %q, want %q", e, got, want)
		}
	}
	const stream, spill, staging, prepared, table = "stream /tmp/copy ", "spill /tmp/spill ", "staging hdfs://nn/s t", "prepared /hbase/staging/1 t", "table t "
	step(EventStream, streams.Record{Place: "-", Copy: "/tmp/copy"}, stream)
	step(EventFresh, FreshRecord{Table: "t", From: "old"}, stream, table)
	step(EventReadSnapshot, ReadSnapshotRecord{Input: "table:y", Place: "y", Table: "y", Snapshot: "r"}, "snapshot r y", stream, table)
	step(EventPlan, PlanRecord{Table: "t", Staging: "hdfs://nn/s", Tables: []PlanRecord{{Table: "x"}}}, "snapshot r y", staging, stream, table)
	step(EventSpill, build.SpillRecord{Dir: "/tmp/spill"}, "snapshot r y", staging, spill, stream, table)
	step(EventSubmitting, build.SubmissionRecord{Tag: "tag"}, "snapshot r y", staging, spill, stream, "yarn tag ", table)
	step(EventEnded, EndedRecord{Tag: "tag"}, "snapshot r y", staging, spill, stream, table)
	step(EventReadSnapshot, ReadSnapshotRecord{Place: "y"}, staging, spill, stream, table)
	step(EventQuiet, QuietRecord{Table: "t", Was: map[string]string{"SPLIT_ENABLED": "", "MERGE_ENABLED": "true"}}, staging, "quiet MERGE_ENABLED, SPLIT_ENABLED t", spill, stream, table)
	step(EventQuiet, QuietRecord{Table: "t", Over: true}, staging, spill, stream, table)
	step(EventSpill, build.SpillRecord{}, staging, stream, table)
	step(EventStream, streams.Record{Place: "-"}, staging, table)
	step(EventPrepared, TokenRecord{"/hbase/staging/1"}, staging, prepared, table)
	step(EventCleaned, TokenRecord{"/hbase/staging/1"}, staging, table)
	step(EventDone, DoneRecord{Result: &result.Result{}, Staging: StagingKept}, staging)
	step(EventDone, DoneRecord{Result: &result.Result{}, Staging: StagingRemoved})
	step(EventUndoing, UndoRecord{Timestamp: 7, Snapshot: "s0", Staging: "hdfs://nn/u0", Tables: []UndoTable{{"x", "s1", "hdfs://nn/u1"}}},
		"snapshot s0 t", "snapshot s1 x", "staging hdfs://nn/u0 t", "staging hdfs://nn/u1 x")
	step(EventReadSnapshot, ReadSnapshotRecord{Place: PlaceUndone(0)}, "snapshot s1 x", "staging hdfs://nn/u0 t", "staging hdfs://nn/u1 x")
	step(EventUndone, UndoneRecord{&result.Undo{}})
}
