package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// journalOf returns the records in a job's directory.
func journalOf(t *testing.T, dir string) []journal.Record {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, journal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := journal.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// TestTablesOfAJournal checks that a history keeps the loads of several tables apart.
func TestTablesOfAJournal(t *testing.T) {
	s := spec.Spec{Table: "t", Key: "id + v", Inputs: []string{"/in"}, Timestamp: 5, Tables: []spec.TableSpec{{Table: "x", Key: "v", Columns: []string{"id"}}}}
	id, err := Identify(jobtest.Env(t), jobtest.Resolve(t, s), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	open := func() *Job {
		st, err := Open(t.Context(), nil, id.On("test"), Options{Dir: dir}, progress.Events{})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	st := open()
	file := func(path string) []loader.HFile {
		return []loader.HFile{{Family: "f", Path: path, First: rowkey.Key("a"), Last: rowkey.Key("b")}}
	}
	record := func(e history.Event, data any) {
		t.Helper()
		if err := st.Record(e, data); err != nil {
			t.Fatal(err)
		}
	}
	turn := func(n int) {
		t.Helper()
		if err := st.Turn(n, "x"); err != nil {
			t.Fatal(err)
		}
	}
	record(history.EventPlan, history.PlanRecord{Table: "t", Splits: []rowkey.Key{rowkey.Key("m")}, Tables: []history.PlanRecord{{Table: "x"}}})
	record(history.EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/1", Region: 1, Rows: 2, Bytes: 10}})
	record(history.EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/2", Region: 0, Rows: 3, Bytes: 20}, Ordinal: 2})
	turn(0)
	record(history.EventLoading, history.FilesRecord{Files: file("1")})
	record(history.EventPrepared, history.TokenRecord{Token: "first"})
	record(history.EventSending, history.SendingRecord{Groups: []history.FilesRecord{{Region: "r", Files: file("1")}}})
	record(history.EventLoaded, history.FilesRecord{Region: "r", Files: file("1")})
	turn(1)
	record(history.EventLoading, history.FilesRecord{Files: file("2")})
	record(history.EventSending, history.SendingRecord{Groups: []history.FilesRecord{{Region: "r", Files: file("2")}}})
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open()
	defer st.Close()
	if st.Written[1].Name != "f/1" || st.Written[2].Name != "f/2" || len(st.Written) != 2 {
		t.Errorf("written: %+v", st.Written)
	}
	if got := fmt.Sprint(st.Unresolved(), st.AnyLoading(), st.Current, st.Token); got != "[2] true 1" {
		t.Errorf("behind the second table's request: %s", got)
	}
	turn(0)
	if st.Files["1"] != history.FileLoaded || len(st.Files) != 1 || st.Token != "first" || !st.Loading {
		t.Errorf("the first table: %+v", st.Files)
	}
	turn(2)
	if len(st.Files) != 0 || st.Loading || !st.AnyLoading() || fmt.Sprint(st.Unresolved()) != "[2]" {
		t.Errorf("a table whose load has not begun: %+v", st.Files)
	}
	state, err := status.Read(st.Dir)
	testcheck.Must(t, err)
	if state.HFiles != 2 || state.Rows != 5 || state.Bytes != 30 || len(state.Files) != 1 || state.Loaded != 1 || state.Sent != 1 {
		t.Errorf("the state: %+v", state)
	}
	if got, want := fmt.Sprint(state.Regions, state.Tables), "3 [{t  loading 2 1 10 2 1 0 } {x  loading 3 1 20 1 0 1 }]"; got != want {
		t.Errorf("by table: %s, want %s", got, want)
	}
	turn(0)
	record(history.EventVerified, &result.Verification{Mode: "full"})
	record(history.EventBuilt, history.BuiltRecord{Manifest: &manifest.Manifest{Digest: manifest.Digest{Rows: 7}, HFiles: 3, Bytes: 70}, Tables: []*manifest.Manifest{{Digest: manifest.Digest{Rows: 8}, HFiles: 4, Bytes: 80}}})
	h, err := history.Of(journalOf(t, st.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(h.TableStates()), "[{t  verified 7 3 70 2 1 0 } {x  loading 8 4 80 1 0 1 }]"; got != want {
		t.Errorf("by table when all are built: %s, want %s", got, want)
	}
	if one := (&history.History{Plan: &history.PlanRecord{Table: "t"}}).TableStates(); one != nil {
		t.Errorf("a job of one table: %v", one)
	}
	trace, err := status.ReadTrace(st.Dir)
	if err != nil || trace.Status() != history.JobUnresolved {
		t.Errorf("%v, %v", trace.Status(), err)
	}
}
