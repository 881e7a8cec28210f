package job

import (
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestResolvedFilesCountOnce checks that the progress of a load counts each file once: one whose answer was lost, which is resolved and then reported
// with its region, one that an earlier attempt had loaded, which is only resolved, and one that was answered.
func TestResolvedFilesCountOnce(t *testing.T) {
	log := &checkpoint.Job{History: history.New()}
	loaded := map[string]int{}
	j := &run{job: log, options: RunOptions{}}
	j.options.Events = progress.Events{OnLoad: func(region string, files int) { loaded[region] += files }}
	hooks := j.hooks(t.Context(), nil, map[string]bool{})
	region := loader.Region{Encoded: "r"}
	lost, earlier, answered, back := loader.HFile{Path: "/d/f/lost"}, loader.HFile{Path: "/d/f/earlier"}, loader.HFile{Path: "/d/f/answered"}, loader.HFile{Path: "/d/f/back"}
	testcheck.Must(t, hooks.OnResolved(earlier, loader.PlaceStore))
	testcheck.Must(t, hooks.OnResolved(lost, loader.PlaceStore))
	testcheck.Must(t, hooks.OnLoaded(region, []loader.HFile{lost}))
	testcheck.Must(t, hooks.OnResolved(back, loader.PlaceSource))
	testcheck.Must(t, hooks.OnLoaded(region, []loader.HFile{answered, back}))
	if loaded[""] != 2 || loaded["r"] != 2 {
		t.Errorf("%v files count, want 2 resolved and 2 of the region", loaded)
	}
}

// TestEndOfADirectorysLoadDropsPrepared checks that the load of a directory removes, at its end, HBase's staging directories that its journal still has,
// like other jobs.
func TestEndOfADirectorysLoadDropsPrepared(t *testing.T) {
	log := &checkpoint.Job{History: history.New()}
	testcheck.Must(t, log.Record(history.EventPlan, history.PlanRecord{Table: "t"}))
	testcheck.Must(t, log.Record(history.EventAttempt, history.AttemptRecord{}))
	testcheck.Must(t, log.Record(history.EventPrepared, history.TokenRecord{Token: "file://" + t.TempDir() + "/hbase/staging/u__t__1"})) // it is gone
	env := jobtest.Env(t)
	at, err := env.Conf.Resolve("file://" + t.TempDir())
	testcheck.Must(t, err)
	d := &dirLoad{run: run{env: env, job: log, result: &result.Result{}}, at: at}
	if err := d.end(t.Context()); err != nil || len(log.Prepared) > 0 || !log.Finished {
		t.Errorf("error %v, directories %v, finished %t", err, log.Prepared, log.Finished)
	}
}

// TestRefusedFilesAtTheirSourcesAreReturned checks that the files of a refused load that are at their sources count as not sent, also if the server had
// loaded others of the same region before it refused, or one cannot be found.
func TestRefusedFilesAtTheirSourcesAreReturned(t *testing.T) {
	log := &checkpoint.Job{History: history.New()}
	hooks := (&run{job: log}).hooks(t.Context(), nil, map[string]bool{})
	region, refused := loader.Region{Encoded: "r"}, &loader.RefusedError{}
	var files []loader.HFile
	for _, place := range []loader.Place{loader.PlaceSource, loader.PlaceStore, loader.PlaceGone} {
		f := loader.HFile{Family: "f", Path: "/d/f/" + place.String()}
		files = append(files, f)
		refused.Files = append(refused.Files, loader.FileState{File: f, Place: place})
	}
	testcheck.Must(t, hooks.OnSending([]loader.Sending{{Region: region, Files: files}}))
	testcheck.Must(t, hooks.OnLoaded(region, files[1:2]))
	testcheck.Must(t, hooks.OnRefused(refused))
	for i, want := range []any{history.FileReady, history.FileLoaded, history.FileSent} {
		if got := log.Files[files[i].Path]; got != want {
			t.Errorf("%s: %v, want %v", files[i].Path, got, want)
		}
	}
}
