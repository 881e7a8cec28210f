package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// doneJob writes the journal of a finished job.
func doneJob(t *testing.T, state string) string {
	t.Helper()
	dir := filepath.Join(state, "t-0123456789ab-cdef01234567")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := OpenDir(t.Context(), nil, dir, 0, progress.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	files := []loader.HFile{{Family: "f", Path: "hdfs://nn/s/f/aa", Cells: 5}}
	for _, r := range []struct {
		event history.Event
		data  any
	}{
		{history.EventPlan, history.PlanRecord{Job: "0123456789abcdef", Table: "t", Timestamp: 7}}, {history.EventAttempt, history.AttemptRecord{Attempt: 1}},
		{history.EventWritten, build.WrittenRecord{}}, {history.EventBuilt, history.BuiltRecord{Manifest: &manifest.Manifest{}}}, {history.EventLoading, history.FilesRecord{Files: files}},
		{history.EventPrepared, history.TokenRecord{Token: "/hbase/staging/x"}}, {history.EventLoaded, history.FilesRecord{Files: files}}, {history.EventDone, history.DoneRecord{Result: &result.Result{}}},
	} {
		if err := st.Record(r.event, r.data); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestUndoIsReplayed checks the history of an undo at each of its steps, for the next attempt, status and clean.
func TestUndoIsReplayed(t *testing.T) {
	state := t.TempDir()
	dir := doneJob(t, state)
	markers := []loader.HFile{{Family: "f", Path: "hdfs://nn/u/f/bb", Cells: 3}}
	for _, step := range []struct {
		event  history.Event
		data   any
		status history.Status // of clean
		undo   string         // of status
		built  bool
		sent   int
	}{
		{"", nil, history.JobDone, "", false, 0},
		{history.EventUndoing, history.UndoRecord{Timestamp: 7, Snapshot: "s", Created: 9, Staging: "hdfs://nn/u"}, history.JobUnresolved, history.UndoRunning, false, 0},
		{history.EventUndoing, history.UndoRecord{}, history.JobDone, "", false, 0},
		{history.EventUndoing, history.UndoRecord{Timestamp: 7, Snapshot: "s2", Created: 10, Staging: "hdfs://nn/u2"}, history.JobUnresolved, history.UndoRunning, false, 0},
		{history.EventAttempt, history.AttemptRecord{Attempt: 2}, history.JobUnresolved, history.UndoRunning, false, 0},
		{history.EventMarkers, history.MarkersRecord{Undo: &result.Undo{Timestamp: 7, Markers: 3}, Files: markers}, history.JobUnresolved, history.UndoRunning, true, 0},
		{history.EventLoading, history.FilesRecord{Files: markers}, history.JobUnresolved, history.UndoRunning, true, 0},
		{history.EventSending, history.SendingRecord{Groups: []history.FilesRecord{{Region: "ab", Files: markers}}}, history.JobUnresolved, history.UndoRunning, true, 1},
		{history.EventLoaded, history.FilesRecord{Region: "ab", Files: markers}, history.JobUnresolved, history.UndoRunning, true, 0},
		{history.EventUndone, history.UndoneRecord{Undo: &result.Undo{Timestamp: 7, Markers: 3, Verify: "full"}}, history.JobDone, history.UndoDone, true, 0},
	} {
		st, err := OpenDir(t.Context(), nil, dir, 0, progress.Events{})
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
		trace, err := status.ReadTrace(dir)
		if err != nil {
			t.Fatal(err)
		}
		s, err := status.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if trace.Status() != step.status || s.Undo != step.undo || s.Sent != step.sent || !trace.Finished {
			t.Errorf("after %s: %s, undo %q, %d sent; want %s, %q, %d", step.event, trace.Status(), s.Undo, s.Sent, step.status, step.undo, step.sent)
		}
		if u := trace.Undo; step.undo != "" && (u.Timestamp != 7 || u.Built != step.built || u.Built && len(u.Markers[0]) != 1) {
			t.Errorf("after %s: %+v", step.event, u)
		}
		if step.event == history.EventUndoing && (trace.Loading || trace.Token != "" || len(trace.Files) > 0) && step.undo != "" {
			t.Errorf("the undo begins with the load's files: %v, %q, %v", trace.Loading, trace.Token, trace.Files)
		}
	}
	s, err := status.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Undone == nil || s.Undone.Markers != 3 || s.UndoneAt.IsZero() || s.State != history.JobDone {
		t.Errorf("status of an undone job: %+v", s)
	}
}

// TestUndoOfTablesIsReplayed checks the progress of the undo of each table, and of its load.
func TestUndoOfTablesIsReplayed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t-0123456789ab-cdef01234567")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	files := func(name string) []loader.HFile {
		return []loader.HFile{{Family: "f", Path: "hdfs://nn/" + name, Cells: 1}}
	}
	m := &manifest.Manifest{HFiles: 1}
	undo := history.MarkersRecord{Undo: &result.Undo{Timestamp: 7, Tables: []*result.Undo{{}, {}}}, Files: files("m0"), Tables: []history.UndoMarkers{{Table: "x", Files: files("m1")}, {Table: "by_v", Files: files("m2")}}}
	begun := history.UndoRecord{Timestamp: 7, Snapshot: "s0", Staging: "hdfs://nn/u0", Tables: []history.UndoTable{{Table: "x", Snapshot: "s1", Staging: "hdfs://nn/u1"}, {Table: "by_v", Snapshot: "s2", Staging: "hdfs://nn/u2"}}}
	for _, step := range []struct {
		event history.Event
		data  any
		undos string
		sent  int
	}{
		{history.EventPlan, history.PlanRecord{Job: "0123456789abcdef", Table: "t", Timestamp: 7, Tables: []history.PlanRecord{{Table: "x"}, {Table: "by_v", Index: "v"}}}, "[  ]", 0},
		{history.EventAttempt, history.AttemptRecord{Attempt: 1}, "[  ]", 0},
		{history.EventBuilt, history.BuiltRecord{Manifest: m, Tables: []*manifest.Manifest{m, m}}, "[  ]", 0},
		{history.EventLoading, history.FilesRecord{Files: files("0")}, "[  ]", 0}, {history.EventLoaded, history.FilesRecord{Region: "r", Files: files("0")}, "[  ]", 0}, {history.EventVerified, &result.Verification{}, "[  ]", 0},
		{history.EventTable, history.TurnRecord{Number: 1, Table: "x"}, "[  ]", 0}, {history.EventLoading, history.FilesRecord{Files: files("1")}, "[  ]", 0}, {history.EventLoaded, history.FilesRecord{Files: files("1")}, "[  ]", 0}, {history.EventVerified, &result.Verification{}, "[  ]", 0},
		{history.EventTable, history.TurnRecord{Number: 2, Table: "by_v"}, "[  ]", 0}, {history.EventLoading, history.FilesRecord{Files: files("2")}, "[  ]", 0}, {history.EventLoaded, history.FilesRecord{Files: files("2")}, "[  ]", 0}, {history.EventVerified, &result.Verification{}, "[  ]", 0},
		{history.EventDone, history.DoneRecord{Result: &result.Result{}}, "[  ]", 0},
		{history.EventUndoing, begun, "[pending pending pending]", 0}, {history.EventUndoing, history.UndoRecord{}, "[  ]", 0}, {history.EventUndoing, begun, "[pending pending pending]", 0},
		{history.EventMarkers, undo, "[pending pending pending]", 0},
		{history.EventLoading, history.FilesRecord{Files: files("m2")}, "[pending pending under way]", 0},
		{history.EventSending, history.SendingRecord{Groups: []history.FilesRecord{{Region: "ab", Files: files("m2")}}}, "[pending pending under way]", 1},
		{history.EventLoaded, history.FilesRecord{Region: "ab", Files: files("m2")}, "[pending pending under way]", 0},
		{history.EventTableUndone, history.TurnRecord{Number: 2, Table: "by_v"}, "[pending pending undone]", 0},
		{history.EventTable, history.TurnRecord{Number: 1, Table: "x"}, "[pending pending undone]", 0},
		{history.EventLoading, history.FilesRecord{Files: files("m1")}, "[pending under way undone]", 0},
		{history.EventMarkers, undo, "[pending pending undone]", 0}, // written again, before one was sent
		{history.EventLoading, history.FilesRecord{Files: files("m1")}, "[pending under way undone]", 0},
		{history.EventSending, history.SendingRecord{Groups: []history.FilesRecord{{Region: "cd", Files: files("m1")}}}, "[pending under way undone]", 1},
		{history.EventMarkers, undo, "[pending under way undone]", 0}, // and after
		{history.EventTableUndone, history.TurnRecord{Number: 1, Table: "x"}, "[pending undone undone]", 0},
		{history.EventUndone, history.UndoneRecord{Undo: &result.Undo{Timestamp: 7}}, "[undone undone undone]", 0},
	} {
		st, err := OpenDir(t.Context(), nil, dir, 0, progress.Events{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(st.Record(step.event, step.data), st.Close()); err != nil {
			t.Fatal(err)
		}
		s, err := status.Read(dir)
		if err != nil || s.Error != "" || len(s.Tables) != 3 || s.Sent != step.sent || s.State == history.JobDone && (s.Loaded != 3 || len(s.Taken) != 1) {
			t.Fatalf("after %s: %+v, %v", step.event, s, err)
		}
		var undos []string
		for _, table := range s.Tables {
			undos = append(undos, table.Undo)
			if s.State == history.JobDone && (table.State != history.TableVerified || table.Loaded != 1) {
				t.Errorf("after %s the load of a table is %+v", step.event, table)
			}
		}
		if got := fmt.Sprint(undos); got != step.undos {
			t.Errorf("after %s: %s, want %s", step.event, got, step.undos)
		}
	}
	trace, err := status.ReadTrace(dir)
	if err != nil || len(trace.Undo.Markers[2]) != 1 || trace.Undo.Markers[2][0].Path != "hdfs://nn/m2" || trace.Undo.Of(0).Snapshot != "s0" || trace.Undo.Of(2) != begun.Tables[1] {
		t.Errorf("the undo is %+v, %v", trace.Undo, err)
	}
	st, err := OpenDir(t.Context(), nil, dir, 0, progress.Events{})
	if err != nil {
		t.Fatal(err)
	}
	undo.Tables = nil
	if err := errors.Join(st.Record(history.EventMarkers, undo), st.Close()); fail.KindOf(err) != fail.Unexpected || !strings.Contains(fmt.Sprint(err), "0 further tables") {
		t.Errorf("a record that no replay takes: %v", err)
	}
	if s, err := status.Read(dir); err != nil || s.State != history.JobUnknown || !strings.Contains(s.Error, "0 further tables, the undo has 2") {
		t.Errorf("markers of other tables: %+v, %v", s, err)
	}
}

// TestLedger checks that undone timestamps stay known, each once, also for other processes.
func TestLedger(t *testing.T) {
	state := t.TempDir()
	if all, err := ReadUndone(t.Context(), nil, state, progress.Events{}); err != nil || len(all) > 0 {
		t.Fatalf("a state directory without undone timestamps: %v, %v", all, err)
	}
	if list, err := os.ReadDir(state); err != nil || len(list) > 0 {
		t.Fatalf("reading has made %v, %v", list, err)
	}
	a, b := Undone{"c", "t", 7, "j"}, Undone{"c", "t", 8, "j"}
	for _, u := range []Undone{a, b, a} {
		if err := NoteUndone(t.Context(), nil, state, u, progress.Events{}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ReadUndone(t.Context(), nil, state, progress.Events{})
	if err != nil || len(all) != 2 || all[0] != a || all[1] != b {
		t.Errorf("known are %v, %v", all, err)
	}
	jobs, err := status.ReadAll(state)
	if err != nil || len(jobs) > 0 {
		t.Errorf("the ledger is taken for a job: %v, %v", jobs, err)
	}
	for _, again := range []bool{false, true} {
		for range 2 {
			testcheck.Must(t, WithdrawUndone(t.Context(), nil, state, a, progress.Events{}))
		}
		if again {
			testcheck.Must(t, NoteUndone(t.Context(), nil, state, a, progress.Events{}))
		}
		if all, err := ReadUndone(t.Context(), nil, state, progress.Events{}); err != nil || slices.Contains(all, a) != again || !slices.Contains(all, b) {
			t.Errorf("after a withdrawal, noted again %t: %v, %v", again, all, err)
		}
	}
	empty := t.TempDir()
	testcheck.Must(t, WithdrawUndone(t.Context(), nil, empty, a, progress.Events{}))
	if list, err := os.ReadDir(empty); err != nil || len(list) > 0 {
		t.Errorf("a withdrawal of nothing has made %v, %v", list, err)
	}
	if err := os.WriteFile(filepath.Join(state, ledgerDir, journal.FileName), []byte("no record\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadUndone(t.Context(), nil, state, progress.Events{}); fail.KindOf(err) != fail.Config {
		t.Errorf("a damaged ledger: %v", err)
	}
}
