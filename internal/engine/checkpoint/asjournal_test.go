package checkpoint

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// everyEvent returns records of a job with all events: two tables whose files are cut, merged, fenced and lost, the replacement of another table, and
// an undo.
func everyEvent() []struct {
	event history.Event
	data  any
} {
	file := func(names ...string) (files []loader.HFile) {
		for _, name := range names {
			files = append(files, loader.HFile{Family: "f", Path: "hdfs://nn/s/f/" + name, First: rowkey.Key("a"), Last: rowkey.Key("z"), Size: 9, Cells: 3, FileID: 7})
		}
		return files
	}
	made, exporting := &history.TableRecord{Cluster: "c", State: 5, Regions: []history.RegionRecord{{Name: "ab", Made: 4}}}, history.ExportingRecord{Table: "t", Dir: "/out", Token: "k", Read: "s", Now: 5}
	m := &manifest.Manifest{Table: "t", HFiles: 1, Digest: manifest.Digest{Rows: 1, Cells: 3}}
	sending := func(names ...string) history.SendingRecord {
		return history.SendingRecord{Groups: []history.FilesRecord{{Region: "ab", Server: "rs1", Attempt: 1, Files: file(names...)}}}
	}
	undoing := history.UndoRecord{Timestamp: 7, Snapshot: "s0", Created: 8, Staging: "hdfs://nn/u0", Tables: []history.UndoTable{{Table: "x", Snapshot: "s1", Staging: "hdfs://nn/u1"}}}
	markers := history.MarkersRecord{Undo: &result.Undo{Timestamp: 7, Tables: []*result.Undo{{}}}, Files: file("m0"), Tables: []history.UndoMarkers{{Table: "x", Files: file("m1")}}}
	plan := history.PlanRecord{Job: "0123456789abcdef", Table: "t", Timestamp: 7, Splits: []rowkey.Key{rowkey.Key("m")}, Staging: "hdfs://nn/s", Made: made, Inputs: []history.InputRecord{{Input: "/in.csv", Size: 7, Time: time.Now()}}, Tables: []history.PlanRecord{{Table: "x"}}}
	return []struct {
		event history.Event
		data  any
	}{
		{history.EventDiscarded, history.DiscardedRecord{}}, {history.EventDiscarded, history.DiscardedRecord{Prepared: map[string]string{"hdfs://nn/hbase/staging/9": "t"}, Staging: []string{"hdfs://old/s"}, Snapshot: &history.SnapshotRecord{Snapshot: "kept", Created: 5}, Fresh: &history.FreshRecord{Table: "t", From: "old", Made: made}}},
		{history.EventExporting, exporting}, {history.EventExported, history.ExportedRecord{Region: 1, Wrote: manifest.ExportedRegion{NoCells: 1}}},
		{history.EventStream, streams.Record{Input: "-", Place: "-", Copy: "/tmp/copy"}},
		{history.EventRekey, history.RekeyRecord{From: "old", Snapshot: "s", Own: true, Now: 5}},
		{history.EventComparing, history.ComparingRecord{Table: "t", A: "snapshot a", B: "export b", Now: 5, Cuts: []rowkey.Key{[]byte("m")}}},
		{history.EventCluster, history.ClusterRecord{Conf: "/etc/other", Result: result.Cluster{Conf: "/etc/other", Status: result.PartDone}}},
		{history.EventCompared, history.ComparedRecord{Range: 1, Found: result.ComparedRange{RowsA: 1, Differences: result.Differences{OnlyA: 1}}}},
		{history.EventReadSnapshot, history.ReadSnapshotRecord{Input: "table:y", Place: "y", Table: "y", Snapshot: "r"}},
		{history.EventFresh, history.FreshRecord{Table: "t", From: "old", Old: made}},
		{history.EventFresh, history.FreshRecord{Table: "t", From: "old", Old: made, Made: made}},
		{history.EventPlan, plan},
		{history.EventAttempt, history.AttemptRecord{Attempt: 1, PID: 2, Host: "h"}},
		{history.EventChecking, history.CheckingRecord{Table: "t", Token: "hdfs://nn/hbase/staging/0"}},
		{history.EventChecking, history.CheckingRecord{Table: "t", Token: "hdfs://nn/hbase/staging/0", Gone: true}},
		{history.EventQuiet, history.QuietRecord{Table: "t", Was: map[string]string{"SPLIT_ENABLED": ""}}},
		{history.EventSpill, build.SpillRecord{Dir: "/tmp/spill"}},
		{history.EventSorted, build.SortedRecord{Regions: []int{0, 1, 2}}},
		{history.EventSubmitting, build.SubmissionRecord{Tag: "tag", Dir: "hdfs://nn/y", Weights: []int64{1, 2}}},
		{history.EventSubmitted, build.SubmissionRecord{Tag: "tag", Dir: "hdfs://nn/y", Application: "a_1"}},
		{history.EventEnded, history.EndedRecord{Tag: "tag", How: "killed"}},
		{history.EventSubmitting, build.SubmissionRecord{Tag: "tag2", Dir: "hdfs://nn/y"}},
		{history.EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/0", Rows: 1}}},
		{history.EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/1", Region: 1, Rows: 1}}},
		{history.EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/2", Rows: 2}, Ordinal: 2}},
		{history.EventBuilt, history.BuiltRecord{Manifest: m, Tables: []*manifest.Manifest{m}}},
		{history.EventFailed, history.FailedRecord{Error: "no"}},
		{history.EventAttempt, history.AttemptRecord{Attempt: 2, PID: 3, Host: "h"}},
		{history.EventLost, build.LostRecord{Regions: []int{1, 2}}},
		{history.EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/1", Region: 1, Rows: 1}}},
		{history.EventBuilt, history.BuiltRecord{Manifest: m, Tables: []*manifest.Manifest{m}}},
		{history.EventSpill, build.SpillRecord{}},
		{history.EventStream, streams.Record{Input: "-", Place: "-"}},
		{history.EventReadSnapshot, history.ReadSnapshotRecord{Input: "table:y", Place: "y", Table: "y"}},
		{history.EventSnapshotting, history.SnapshotRecord{Snapshot: "before", Created: 3}},
		{history.EventSnapshot, history.SnapshotRecord{Snapshot: "before"}},
		{history.EventReadSnapshot, history.ReadSnapshotRecord{Place: history.PlaceCompared, Table: "t", Snapshot: "cmp", Created: 4}},
		{history.EventReplaced, history.ReplacedRecord{Replace: &result.Replace{Rows: 2}, Files: file("d")}},
		{history.EventReadSnapshot, history.ReadSnapshotRecord{Place: history.PlaceCompared, Table: "t"}},
		{history.EventLoading, history.FilesRecord{Files: file("0", "1", "2", "3")}},
		{history.EventCut, history.RewrittenRecord{Parents: file("0"), Children: file("0a", "0b")}},
		{history.EventMerged, history.RewrittenRecord{Parents: file("0b", "1"), Children: file("01")}},
		{history.EventPrepared, history.TokenRecord{Token: "hdfs://nn/hbase/staging/1"}},
		{history.EventSending, sending("0a", "01", "2")},
		{history.EventLoaded, history.FilesRecord{Region: "ab", Files: file("0a")}},
		{history.EventReturned, history.FilesRecord{Region: "ab", Reason: "moved", Files: file("01")}},
		{history.EventUnknown, history.FilesRecord{Region: "ab", Files: file("2")}},
		{history.EventFencing, history.FencingRecord{File: file("2")[0], To: "hdfs://nn/s/f/2_1"}},
		{history.EventFenced, history.FencingRecord{File: file("2_1")[0], From: "hdfs://nn/s/f/2"}},
		{history.EventSending, sending("01", "2_1", "3")},
		{history.EventLoaded, history.FilesRecord{Region: "ab", Files: file("01", "2_1", "3")}},
		{history.EventCleaned, history.TokenRecord{Token: "hdfs://nn/hbase/staging/1"}},
		{history.EventVerified, &result.Verification{Mode: "full"}},
		{history.EventQuiet, history.QuietRecord{Table: "t", Over: true}},
		{history.EventTable, history.TurnRecord{Number: 1, Table: "x"}},
		{history.EventLoading, history.FilesRecord{Files: file("x")}},
		{history.EventLoaded, history.FilesRecord{Region: "cd", Files: file("x")}},
		{history.EventVerified, &result.Verification{Mode: "full"}},
		{history.EventDone, history.DoneRecord{Result: &result.Result{Schema: 1}, Staging: history.StagingRemoved, Next: true}}, {history.EventCleaned, history.TokenRecord{Token: "hdfs://nn/s"}},
		{history.EventDropping, history.DropRecord{Table: "old"}},
		{history.EventDropped, history.DropRecord{Table: "old"}},
		{history.EventAttempt, history.AttemptRecord{Attempt: 3, PID: 4, Host: "h"}},
		{history.EventUndoing, undoing},
		{history.EventUndoing, history.UndoRecord{}},
		{history.EventUndoing, undoing},
		{history.EventMarkers, markers},
		{history.EventTable, history.TurnRecord{Number: 1, Table: "x"}},
		{history.EventLoading, history.FilesRecord{Files: file("m1")}},
		{history.EventSending, sending("m1")},
		{history.EventLoaded, history.FilesRecord{Region: "cd", Files: file("m1")}},
		{history.EventTableUndone, history.TurnRecord{Number: 1, Table: "x"}},
		{history.EventTable, history.TurnRecord{Number: 0, Table: "t"}},
		{history.EventUndone, history.UndoneRecord{Undo: &result.Undo{Timestamp: 7}}},
		{history.EventUndoing, history.UndoRecord{Timestamp: 7, Created: 9, Snapshot: "now", From: &history.RestoredFrom{Snapshot: "before", Created: 3, Discard: true}}},
		{history.EventRestoring, history.RestoringRecord{Undo: &result.Undo{Timestamp: 7, By: "snapshot", Restore: &result.Restore{Removed: 2}}, Nonce: 1<<63 | 1}},
		{history.EventRestored, history.TurnRecord{Number: 0, Table: "t"}}, {history.EventTableUndone, history.TurnRecord{Number: 0, Table: "t"}},
		{history.EventUndone, history.UndoneRecord{Undo: &result.Undo{Timestamp: 7}}},
	}
}

func openEmpty(t *testing.T, dir string) *Job {
	t.Helper()
	id, err := Identify(jobtest.Env(t), jobtest.Resolve(t, spec.Spec{Table: "t", Key: "id", Inputs: []string{"/in"}}), "")
	if err != nil {
		t.Fatal(err)
	}
	st, err := Open(t.Context(), nil, id.On("test"), Options{Dir: dir}, progress.Events{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// TestRecordAppliesWhatAReplayWould checks that after each record a process has the same history as the next one, with a journal and without.
func TestRecordAppliesWhatAReplayWould(t *testing.T) {
	kept, alone := openEmpty(t, t.TempDir()), openEmpty(t, "")
	var had []history.Event
	for i, r := range everyEvent() {
		had = append(had, r.event)
		if err := errors.Join(kept.Record(r.event, r.data), alone.Record(r.event, r.data)); err != nil {
			t.Fatalf("record %d (%s): %v", i+1, r.event, err)
		}
		if err := kept.Differences(kept.Dir); err != nil {
			t.Fatalf("after record %d (%s): %v", i+1, r.event, err)
		}
		a, b := []any{kept.TableStates(), kept.Token, kept.Loading, kept.Files, kept.Leaves, kept.Replaced}, []any{alone.TableStates(), alone.Token, alone.Loading, alone.Files, alone.Leaves, alone.Replaced}
		if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(kept.Done, alone.Done) || kept.AnyLoading() != alone.AnyLoading() || kept.Finished != alone.Finished {
			t.Fatalf("after record %d (%s) a job without a directory knows %+v, %+v, one with a directory %+v, %+v", i+1, r.event, b, alone.Done, a, kept.Done)
		}
	}
	for _, e := range history.Events() {
		if !slices.Contains(had, e.Event) {
			t.Errorf("no record is of %s", e.Event)
		}
	}
	kept.Loading = !kept.Loading
	if err := kept.Differences(kept.Dir); err == nil || !strings.Contains(err.Error(), "tableLoad is ") {
		t.Errorf("a history that was changed without a record: %v", err)
	}
}

// TestRecordsOfManyAreInOneOrder checks that of two records of one object the one later in the journal wins.
func TestRecordsOfManyAreInOneOrder(t *testing.T) {
	st := openEmpty(t, t.TempDir())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				w := build.WrittenRecord{File: manifest.File{Name: fmt.Sprintf("f/%d", i), Region: n}}
				if err := st.Record(history.EventWritten, w); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := st.Differences(st.Dir); err != nil || len(st.Written) != 20 {
		t.Errorf("%d regions: %v", len(st.Written), err)
	}
}
