package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
)

// TestNothingDoneLeavesNothing checks that only a job that was refused before doing anything leaves no directory.
func TestNothingDoneLeavesNothing(t *testing.T) {
	read := history.ReadSnapshotRecord{Input: "table:y", Place: "y", Table: "y", Snapshot: "s"}
	gone := read
	gone.Snapshot = ""
	for _, c := range []struct {
		name   string
		before func(t *testing.T, dir string)
		do     func(st *Job) error
		stays  bool
	}{
		{name: "nothing"},
		{name: "a snapshot that is gone", do: func(st *Job) error {
			return errors.Join(st.Record(history.EventReadSnapshot, read), st.Record(history.EventReadSnapshot, gone))
		}},
		{name: "an empty journal of a killed process", before: func(t *testing.T, dir string) { write(t, dir, journal.FileName, "") }},
		{name: "a report of a process that was stopped in a pause", do: func(st *Job) error {
			return errors.Join(status.Live{Schema: 1}.Write(st.Dir), status.Command{Schema: 1}.Write(st.Dir))
		}},
		{name: "the outcome of one", before: func(t *testing.T, dir string) { write(t, dir, status.EndingName, "{}") }},
		{name: "a snapshot that is gone, with an outcome", before: func(t *testing.T, dir string) { write(t, dir, status.EndingName, "{}") }, do: func(st *Job) error {
			return errors.Join(st.Record(history.EventReadSnapshot, read), st.Record(history.EventReadSnapshot, gone))
		}, stays: true},
		{name: "a plan", do: func(st *Job) error { return st.Record(history.EventPlan, history.PlanRecord{Table: "t"}) }, stays: true},
		{name: "a snapshot", do: func(st *Job) error { return st.Record(history.EventReadSnapshot, read) }, stays: true},
		{name: "sorted runs", do: func(st *Job) error { return st.Record(history.EventSpill, build.SpillRecord{Dir: "/x"}) }, stays: true},
		{name: "a stream that was read", do: func(st *Job) error { return st.Record(history.EventStream, streams.Record{Place: "-"}) }, stays: true},
		{name: "a directory of HBase's", do: func(st *Job) error {
			return st.Record(history.EventChecking, history.CheckingRecord{Table: "t", Token: "/hbase/staging/x"})
		}, stays: true},
		{name: "bad records for a person", before: func(t *testing.T, dir string) { write(t, dir, "rejects.jsonl", "x") }, stays: true},
		{name: "a journal that was torn", before: func(t *testing.T, dir string) { write(t, dir, journal.FileName, `{"seq":1`) }, stays: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := t.TempDir()
			st := openEmpty(t, state)
			dir := st.Dir
			if err := st.Close(); err != nil || exists(dir) {
				t.Fatalf("%v, it is there: %t", err, exists(dir))
			}
			if c.before != nil {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				c.before(t, dir)
			}
			st = openEmpty(t, state)
			if c.do != nil {
				if err := c.do(st); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Open(t.Context(), nil, st.Identity, Options{Dir: state}, progress.Events{}); fail.KindOf(err) != fail.Busy {
				t.Errorf("a second process: %v", err)
			}
			if err := st.Close(); err != nil || exists(dir) != c.stays || (st.Dir != "") != c.stays {
				t.Errorf("%v, it is there: %t, as %q", err, exists(dir), st.Dir)
			}
		})
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
