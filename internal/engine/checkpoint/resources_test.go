package checkpoint

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
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
	step(EventDone, DoneRecord{Result: &result.Result{}, Staging: StagingRemoved, Next: true}, staging)
	step(EventCleaned, TokenRecord{"hdfs://nn/s"})
	step(EventDone, DoneRecord{Result: &result.Result{}, Staging: StagingRemoved}) // by earlier versions
	step(EventUndoing, UndoRecord{Timestamp: 7, Snapshot: "s0", Staging: "hdfs://nn/u0", Tables: []UndoTable{{"x", "s1", "hdfs://nn/u1"}}},
		"snapshot s0 t", "snapshot s1 x", "staging hdfs://nn/u0 t", "staging hdfs://nn/u1 x")
	step(EventReadSnapshot, ReadSnapshotRecord{Place: PlaceUndone(0)}, "snapshot s1 x", "staging hdfs://nn/u0 t", "staging hdfs://nn/u1 x")
	step(EventUndone, UndoneRecord{&result.Undo{}})
}

// TestStagingIsGoneWhenTheJournalSaysSo checks that a job that is done names its staging directory until that is removed, and that the same command
// removes it after a process that could not.
func TestStagingIsGoneWhenTheJournalSaysSo(t *testing.T) {
	dir := t.TempDir()
	uri := "file://" + dir + "/t-1700000000000-0123456789abcdef"
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	stage, err := staging.At(env, uri)
	testcheck.Must(t, err)
	testcheck.Must(t, os.MkdirAll(stage.Location.Path+"/f", 0o700))
	st := &Job{History: NewHistory()}
	testcheck.Must(t, st.Record(EventPlan, PlanRecord{Table: "t", Staging: uri}))
	stage.FS = &testfs.Faulty{FS: stage.FS, Inject: func(testfs.Op, string, int64) *testfs.Fault { return &testfs.Fault{Err: os.ErrPermission} }}
	warned := 0
	e := progress.Events{OnWarn: func(string, ...any) { warned++ }}
	testcheck.Must(t, st.End(t.Context(), &result.Result{}, stage, false, e))
	if !st.Finished || len(st.Resources()) != 1 || warned != 1 || !fileExists(stage.Location.Path) {
		t.Fatalf("finished %t, warned %d times, %+v", st.Finished, warned, st.Resources())
	}
	st.EndStaging(t.Context(), env, e)
	if len(st.Resources()) != 0 || warned != 1 || fileExists(stage.Location.Path) {
		t.Errorf("warned %d times, %+v", warned, st.Resources())
	}
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
		st := &Job{History: NewHistory()}
		plan.Job, plan.Table = id, "t"
		cuts := func() (list []Resource) {
			for _, r := range st.Resources() {
				if r.Kind == ResourceCuts {
					list = append(list, r)
				}
			}
			return list
		}
		testcheck.Must(t, st.Record(EventPlan, plan))
		if got := cuts(); got != nil {
			t.Errorf("%s, planned: %+v", place, got)
		}
		testcheck.Must(t, st.Record(EventLoading, FilesRecord{}))
		var want []Resource
		if plan.LoadsDir() && len(plan.Inputs) > 0 && plan.Inputs[0].Place == place {
			want = []Resource{{Kind: ResourceCuts, Name: place + "/_loading-0123456789ab", Table: "t"}}
		}
		if got := cuts(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s, loading: %+v, want %+v", place, got, want)
		}
		testcheck.Must(t, st.Record(EventDone, DoneRecord{Result: &result.Result{}}))
		if got := cuts(); got != nil {
			t.Errorf("%s, done: %+v", place, got)
		}
	}
}

// TestCleanRemovesCutFiles checks that clean of a load that was given up removes the directory of its cut files, and nothing next to it.
func TestCleanRemovesCutFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"_loading-0123456789ab/f/cut", "f/whole", "_loading-ba9876543210/f/cut"} {
		testcheck.Must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	c := &cleaner{env: &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}}
	r := Resource{Kind: ResourceCuts, Name: "file://" + dir + "/_loading-0123456789ab"}
	for range 2 { // it may be gone already
		testcheck.Must(t, c.remove(t.Context(), "", &Leftover{Remove: true}, r))
	}
	if fileExists(filepath.Join(dir, "_loading-0123456789ab")) || !fileExists(filepath.Join(dir, "f/whole")) || !fileExists(filepath.Join(dir, "_loading-ba9876543210/f/cut")) {
		t.Error("not the directory of the cut files is removed, or more")
	}
}
