package job

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// TestRemovedFilesNameTheWay checks the error of a load whose staging directory was removed after it had begun: it explains how to start the job
// over.
func TestRemovedFilesNameTheWay(t *testing.T) {
	l, err := jobtest.Env(t).Conf.Resolve("hdfs://nn/stage")
	if err != nil {
		t.Fatal(err)
	}
	memory := hdfsio.NewMemory()
	st := &stage{Dir: &staging.Dir{FS: memory, Location: l}, out: build.Output{FS: memory, Dir: l.Path}}
	log := &checkpoint.Job{History: history.New()}
	if err := log.Record(history.EventLoading, history.FilesRecord{Files: []loader.HFile{{Family: "f", Path: l.Join("f/0").URI(), Size: 9, Cells: 1}}}); err != nil {
		t.Fatal(err)
	}
	err = (&run{job: log}).proveStaged(t.Context(), st, &manifest.Manifest{})
	if fail.KindOf(err) != fail.HDFS || !strings.Contains(err.Error(), "files to be loaded were removed") || !strings.Contains(err.Error(), setting.Restart.String()) {
		t.Errorf("files that were removed give %v", err)
	}
}

// TestDamagedMarkersNameNoRestart checks that the error of damaged files names a restart for a load, and not for an undo, which has none.
func TestDamagedMarkersNameNoRestart(t *testing.T) {
	l, err := jobtest.Env(t).Conf.Resolve("hdfs://nn/stage")
	testcheck.Must(t, err)
	for _, u := range []*history.Undoing{nil, {}} {
		memory := hdfsio.NewMemory()
		testcheck.Must(t, memory.MkdirAll(t.Context(), l.Path+"/f", 0o755))
		w, err := memory.Create(t.Context(), l.Path+"/f/0", hdfsio.CreateOptions{})
		testcheck.Must(t, err)
		testcheck.Must(t, w.Finish())
		st := &stage{Dir: &staging.Dir{FS: memory, Location: l}, out: build.Output{FS: memory, Dir: l.Path}}
		log := &checkpoint.Job{History: history.New()}
		testcheck.Must(t, log.Record(history.EventLoading, history.FilesRecord{Files: []loader.HFile{{Family: "f", Path: l.Join("f/0").URI(), Size: 9, Cells: 1}}}))
		log.History.Undo = u
		err = (&run{job: log}).proveStaged(t.Context(), st, &manifest.Manifest{})
		if fail.KindOf(err) != fail.Load || strings.Contains(err.Error(), setting.Restart.String()) == (u != nil) {
			t.Errorf("damaged files give %v", err)
		}
	}
}
