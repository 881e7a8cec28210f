package session

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
)

// TestStateWriterWarnsOnce checks that a state directory that accepts no files is reported once, and that the job
// continues.
func TestStateWriterWarnsOnce(t *testing.T) {
	var log bytes.Buffer
	s := &Session{program: &Program{}, log: slog.New(slog.NewTextHandler(&log, nil))}
	dir := t.TempDir()
	lock, err := journal.TryLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := os.Mkdir(filepath.Join(dir, status.LiveName), 0o700); err != nil {
		t.Fatal(err)
	}
	s.tracker.Events().OnStart(progress.Start{Job: dir, Attempt: 1})
	w := &stateWriter{session: s}
	for range 3 {
		w.writeProgress()
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
	if err := w.End(t.Context(), ending.Outcome{}); err != nil {
		t.Error(err)
	}
}

// TestWriteTasks checks that the file has all tasks of a job on YARN.
func TestWriteTasks(t *testing.T) {
	y := &result.YARN{Tasks: make([]result.Task, 2000)}
	y.Tasks[7] = result.Task{Kind: "map", Number: 7, Wall: time.Second}
	dir := t.TempDir()
	if err := writeTasks(dir, y); err != nil {
		t.Fatal(err)
	}
	var all result.YARN
	text, err := os.ReadFile(filepath.Join(dir, status.TasksName))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all.Tasks) != 2000 || all.Tasks[7] != y.Tasks[7] {
		t.Errorf("%v: %d tasks", err, len(all.Tasks))
	}
}

// TestEndOfADirectory checks, for a run by directories, that the failed one has its error with its own beginning and
// attempt, and that the others keep their outcome.
func TestEndOfADirectory(t *testing.T) {
	began := time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)
	for _, tt := range []struct {
		status result.PartStatus
		writes bool
	}{{result.PartFailed, true}, {result.PartStopped, true}, {result.PartDone, false}, {result.PartAlready, false}, {result.PartBusy, false}, {result.PartLeft, false}} {
		dir := t.TempDir()
		lock, err := journal.TryLock(dir)
		testcheck.Must(t, err)
		w := &stateWriter{session: &Session{program: &Program{}}}
		r := &result.Result{Job: t.TempDir(), Parts: result.Parts{{Job: dir, Status: tt.status, Began: began, Rejected: 7, Error: "no"}}}
		o := ending.Outcome{Result: r, Progress: progress.Progress{Start: progress.Start{Job: dir, Attempt: 3}},
			Object: &ending.Object{Schema: 1, Status: "failed", ExitCode: 4, Error: "directory b (2 of 3): no", ErrorKind: "rows", Job: r.Job, Result: r}}
		testcheck.Must(t, w.End(t.Context(), o))
		testcheck.Must(t, lock.Release())
		e := status.ReadEnding(dir)
		if (e != nil) != tt.writes {
			t.Fatalf("%s: %+v", tt.status, e)
		}
		if tt.writes && (e.ExitCode != 4 || e.Error != "directory b (2 of 3): no" || !e.Began.Equal(began) || e.Attempt != 3 || e.Rejected != 7) {
			t.Errorf("%s: %+v", tt.status, e)
		}
	}
}
