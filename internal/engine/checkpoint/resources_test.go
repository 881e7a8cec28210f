package checkpoint

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
)

// TestStagingIsGoneWhenTheJournalSaysSo checks that a job that is done names its staging directory until that is removed, and that the same command
// removes it after a process that could not.
func TestStagingIsGoneWhenTheJournalSaysSo(t *testing.T) {
	dir := t.TempDir()
	uri := "file://" + dir + "/t-1700000000000-0123456789abcdef"
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	stage, err := staging.At(env, uri)
	testcheck.Must(t, err)
	testcheck.Must(t, os.MkdirAll(stage.Location.Path+"/f", 0o700))
	st := &Job{History: history.New()}
	testcheck.Must(t, st.Record(history.EventPlan, history.PlanRecord{Table: "t", Staging: uri}))
	stage.FS = &testfs.Faulty{FS: stage.FS, Inject: func(testfs.Op, string, int64) *testfs.Fault { return &testfs.Fault{Err: os.ErrPermission} }}
	warned := 0
	e := progress.Events{OnWarn: func(string, ...any) { warned++ }}
	testcheck.Must(t, st.End(t.Context(), &result.Result{}, stage, false, e))
	if !st.Finished || len(st.Resources()) != 1 || warned != 1 || !exists(stage.Location.Path) {
		t.Fatalf("finished %t, warned %d times, %+v", st.Finished, warned, st.Resources())
	}
	st.EndStaging(t.Context(), env, e)
	if len(st.Resources()) != 0 || warned != 1 || exists(stage.Location.Path) {
		t.Errorf("warned %d times, %+v", warned, st.Resources())
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
	r := history.Resource{Kind: history.ResourceCuts, Name: "file://" + dir + "/_loading-0123456789ab"}
	for range 2 { // it may be gone already
		testcheck.Must(t, c.remove(t.Context(), "", &Leftover{Remove: true}, r))
	}
	if exists(filepath.Join(dir, "_loading-0123456789ab")) || !exists(filepath.Join(dir, "f/whole")) || !exists(filepath.Join(dir, "_loading-ba9876543210/f/cut")) {
		t.Error("not the directory of the cut files is removed, or more")
	}
}
