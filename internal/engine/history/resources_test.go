package history

import (
	"fmt"
	"slices"
	"testing"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/test/testcheck"
)

// TestResources checks that a resource outside the job's directory is listed from the record that begins it to the one that ends it.
func TestResources(t *testing.T) {
	h := new(New())
	step := func(e Event, data any, want ...string) {
		t.Helper()
		testcheck.Must(t, record(h, e, data))
		var got []string
		for _, r := range h.Resources() {
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
	step(EventDone, DoneRecord{Result: &result.Result{}, Staging: StagingRemoved, Next: true}, staging)
	step(EventCleaned, TokenRecord{"hdfs://nn/s"})
	step(EventDone, DoneRecord{Result: &result.Result{}, Staging: StagingRemoved}) // by earlier versions
	step(EventUndoing, UndoRecord{Timestamp: 7, Snapshot: "s0", Staging: "hdfs://nn/u0", Tables: []UndoTable{{"x", "s1", "hdfs://nn/u1"}}},
		"snapshot s0 t", "snapshot s1 x", "staging hdfs://nn/u0 t", "staging hdfs://nn/u1 x")
	step(EventReadSnapshot, ReadSnapshotRecord{Place: PlaceUndone(0)}, "snapshot s1 x", "staging hdfs://nn/u0 t", "staging hdfs://nn/u1 x")
	step(EventUndone, UndoneRecord{&result.Undo{}})
}

// TestCutFilesAreAResource checks that the directory of cut files in a directory of HFiles is listed from the beginning of its load to its end, for
// jobs that load one on HDFS.
func TestCutFilesAreAResource(t *testing.T) {
	const id = "0123456789abcdef0123"
	for place, plan := range map[string]PlanRecord{
		"hdfs://nn:8020/out/hfiles": {Inputs: []InputRecord{{Input: "/out/hfiles", Place: "hdfs://nn:8020/out/hfiles"}}},
		"on this machine":           {Inputs: []InputRecord{{Input: "/out/hfiles", Place: "/out/hfiles"}}},
		"by an earlier version":     {Inputs: []InputRecord{{Input: "hdfs://nn/out/hfiles"}}},
		"of a build":                {Key: "id", Inputs: []InputRecord{{Input: "x.csv", Place: "hdfs://nn:8020/out/x.csv"}}},
		"without inputs":            {},
	} {
		h := new(New())
		plan.Job, plan.Table = id, "t"
		cuts := func() (list []Resource) {
			for _, r := range h.Resources() {
				if r.Kind == ResourceCuts {
					list = append(list, r)
				}
			}
			return list
		}
		testcheck.Must(t, record(h, EventPlan, plan))
		if got := cuts(); got != nil {
			t.Errorf("%s, planned: %+v", place, got)
		}
		testcheck.Must(t, record(h, EventLoading, FilesRecord{}))
		var want []Resource
		if plan.LoadsDir() && len(plan.Inputs) > 0 && plan.Inputs[0].Place == place {
			want = []Resource{{Kind: ResourceCuts, Name: place + "/_loading-0123456789ab", Table: "t"}}
		}
		if got := cuts(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s, loading: %+v, want %+v", place, got, want)
		}
		testcheck.Must(t, record(h, EventDone, DoneRecord{Result: &result.Result{}}))
		if got := cuts(); got != nil {
			t.Errorf("%s, done: %+v", place, got)
		}
	}
}

// record applies a record as a journal would have it.
func record(h *History, e Event, data any) error {
	r, err := journal.NewRecord(int64(h.Records)+1, string(e), data)
	if err != nil {
		return err
	}
	return h.Apply(r)
}
