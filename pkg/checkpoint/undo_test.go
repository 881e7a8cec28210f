package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"bulkload/pkg/build"
	"bulkload/pkg/fail"
	"bulkload/pkg/journal"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
	"bulkload/pkg/result"
)

// doneJob writes the journal of a job that is done.
func doneJob(t *testing.T, state string) string {
	t.Helper()
	dir := filepath.Join(state, "t-0123456789ab-cdef01234567")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := OpenDir(t.Context(), dir, 0, progress.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	files := []fileRecord{{Family: "f", Path: "hdfs://nn/s/f/aa", Cells: 5}}
	for _, r := range []struct {
		event Event
		data  any
	}{
		{EventPlan, PlanRecord{Job: "0123456789abcdef", Table: "t", Timestamp: 7}}, {EventAttempt, AttemptRecord{Attempt: 1}},
		{EventWritten, build.WrittenRecord{}}, {EventBuilt, BuiltRecord{&manifest.Manifest{}}}, {EventLoading, FilesRecord{Files: files}},
		{EventPrepared, TokenRecord{"/hbase/staging/x"}}, {EventLoaded, FilesRecord{Files: files}}, {EventDone, DoneRecord{Result: &result.Result{}}},
	} {
		if err := st.Record(r.event, r.data); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestUndoIsReplayed: what a journal says of an undo at each of its steps, to who resumes it, to status and to clean.
func TestUndoIsReplayed(t *testing.T) {
	state := t.TempDir()
	dir := doneJob(t, state)
	markers := []fileRecord{{Family: "f", Path: "hdfs://nn/u/f/bb", Cells: 3}}
	for _, step := range []struct {
		event  Event
		data   any
		status Status // of clean
		undo   string // of status
		built  bool
		sent   int
	}{
		{"", nil, JobDone, "", false, 0},
		{EventUndoing, UndoRecord{Timestamp: 7, Snapshot: "s", Created: 9, Staging: "hdfs://nn/u"}, JobUnresolved, UndoUnderWay, false, 0},
		{EventUndoing, UndoRecord{}, JobDone, "", false, 0},
		{EventUndoing, UndoRecord{Timestamp: 7, Snapshot: "s2", Created: 10, Staging: "hdfs://nn/u2"}, JobUnresolved, UndoUnderWay, false, 0},
		{EventAttempt, AttemptRecord{Attempt: 2}, JobUnresolved, UndoUnderWay, false, 0},
		{EventMarkers, MarkersRecord{&result.Undo{Timestamp: 7, Markers: 3}, markers}, JobUnresolved, UndoUnderWay, true, 0},
		{EventLoading, FilesRecord{Files: markers}, JobUnresolved, UndoUnderWay, true, 0},
		{EventSending, SendingRecord{Groups: []FilesRecord{{Region: "ab", Files: markers}}}, JobUnresolved, UndoUnderWay, true, 1},
		{EventLoaded, FilesRecord{Region: "ab", Files: markers}, JobUnresolved, UndoUnderWay, true, 0},
		{EventUndone, UndoneRecord{&result.Undo{Timestamp: 7, Markers: 3, Verify: "full"}}, JobDone, UndoDone, true, 0},
	} {
		st, err := OpenDir(t.Context(), dir, 0, progress.Events{})
		if err != nil {
			t.Fatal(err)
		}
		if step.event != "" {
			if err := st.Record(step.event, step.data); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		trace, err := ReadTrace(dir)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if trace.Status() != step.status || s.Undo != step.undo || s.Sent != step.sent || !trace.Finished {
			t.Errorf("after %s: %s, undo %q, %d sent; want %s, %q, %d", step.event, trace.Status(), s.Undo, s.Sent, step.status, step.undo, step.sent)
		}
		if u := trace.Undo; step.undo != "" && (u.Timestamp != 7 || u.Built != step.built || u.Built && len(u.HFiles()) != 1) {
			t.Errorf("after %s: %+v", step.event, u)
		}
		if step.event == EventUndoing && (trace.Loading || trace.Token != "" || len(trace.Files) > 0) && step.undo != "" {
			t.Errorf("the undo begins with the load's files: %v, %q, %v", trace.Loading, trace.Token, trace.Files)
		}
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Undone == nil || s.Undone.Markers != 3 || s.UndoneAt.IsZero() || s.State != JobDone {
		t.Errorf("status of an undone job: %+v", s)
	}
}

// TestLedger: timestamps that were undone stay known, each once, also when another process looks.
func TestLedger(t *testing.T) {
	state := t.TempDir()
	if all, err := ReadUndone(t.Context(), state, progress.Events{}); err != nil || len(all) > 0 {
		t.Fatalf("a state directory without undone timestamps: %v, %v", all, err)
	}
	if list, err := os.ReadDir(state); err != nil || len(list) > 0 {
		t.Fatalf("reading has made %v, %v", list, err)
	}
	a, b := Undone{"c", "t", 7, "j"}, Undone{"c", "t", 8, "j"}
	for _, u := range []Undone{a, b, a} {
		if err := NoteUndone(t.Context(), state, u, progress.Events{}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ReadUndone(t.Context(), state, progress.Events{})
	if err != nil || len(all) != 2 || all[0] != a || all[1] != b {
		t.Errorf("known are %v, %v", all, err)
	}
	jobs, err := ReadAll(state)
	if err != nil || len(jobs) > 0 {
		t.Errorf("the ledger is taken for a job: %v, %v", jobs, err)
	}
	if err := os.WriteFile(filepath.Join(state, ledgerDir, journal.FileName), []byte("no record\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadUndone(t.Context(), state, progress.Events{}); fail.KindOf(err) != fail.Config {
		t.Errorf("a damaged ledger: %v", err)
	}
}
