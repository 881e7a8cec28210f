package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestFreshIsReplayed checks the history at each step of a job whose table replaces another.
func TestFreshIsReplayed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t2-0123456789ab-cdef01234567")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	made := &history.TableRecord{State: 5}
	before := &result.Before{Rows: 100, Missing: 2, Limit: "5%"}
	for _, step := range []struct {
		event history.Event
		data  any
		want  *history.FreshState
	}{
		{history.EventFresh, history.FreshRecord{Table: "t2", From: "t", Old: made}, &history.FreshState{From: "t", Old: history.OldKept}},
		{history.EventFresh, history.FreshRecord{}, nil},
		{history.EventFresh, history.FreshRecord{Table: "t2", From: "t", Old: made}, &history.FreshState{From: "t", Old: history.OldKept}},
		{history.EventFresh, history.FreshRecord{Table: "t2", From: "t", Old: made, Made: made}, &history.FreshState{From: "t", Made: true, Old: history.OldKept}},
		{history.EventFresh, history.FreshRecord{Table: "t2", From: "t", Old: made, Made: made, Compared: before}, &history.FreshState{From: "t", Made: true, Compared: before, Old: history.OldKept}},
		{history.EventDone, history.DoneRecord{Result: &result.Result{}}, &history.FreshState{From: "t", Made: true, Compared: before, Old: history.OldKept}},
		{history.EventDropping, history.DropRecord{Table: "t"}, &history.FreshState{From: "t", Made: true, Compared: before, Old: history.OldDropping}},
		{history.EventDropped, history.DropRecord{Table: "t"}, &history.FreshState{From: "t", Made: true, Compared: before, Old: history.OldDropped}},
	} {
		st, err := OpenDir(t.Context(), nil, dir, 0, progress.Events{})
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Record(step.event, step.data); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := status.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, want := s.Fresh, step.want
		if (got == nil) != (want == nil) {
			t.Errorf("%s: %+v, not %+v: %s", step.event, got, want, s.Error)
			continue
		}
		if got == nil {
			continue
		}
		if got.From != want.From || got.Made != want.Made || got.Old != want.Old || (got.Compared == nil) != (want.Compared == nil) || got.At.IsZero() == (want.Old == history.OldDropped) || s.Table != "t2" {
			t.Errorf("%s: %+v of table %s, not %+v", step.event, got, s.Table, want)
		}
	}
}

// TestRestartedJobKeepsItsOwn checks that a journal that starts over keeps the table that the job has made and its snapshot, from its first record on.
func TestRestartedJobKeepsItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t2-0123456789ab-cdef01234567")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := OpenDir(t.Context(), nil, dir, 0, progress.Events{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []history.FreshRecord{{Table: "t2", From: "t", Made: &history.TableRecord{State: 5}, Compared: &result.Before{}}} {
		if err := st.Record(history.EventFresh, r); err != nil {
			t.Fatal(err)
		}
	}
	testcheck.Must(t, st.Record(history.EventSnapshotting, history.SnapshotRecord{Snapshot: "s", Created: 5}))
	if err := st.Restart(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = OpenDir(t.Context(), nil, dir, 0, progress.Events{}); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if f := st.Fresh; f == nil || f.Table != "t2" || f.Made == nil || f.Made.State != 5 || f.Compared != nil || st.Records != 1 {
		t.Errorf("%+v", f)
	}
	if s := st.KeptSnapshot(); s.Snapshot != "s" || s.Created != 5 || st.Snapshot != "" {
		t.Errorf("%+v", s)
	}
}

// TestDiscardedJournalIsReplacedAtOnce checks that the journal has its first record as soon as the earlier one is gone: a process that ends then leaves
// the names of what the job keeps.
func TestDiscardedJournalIsReplacedAtOnce(t *testing.T) {
	st := &Job{}
	var err error
	st.Dir = t.TempDir()
	st.lock, err = WaitLock(t.Context(), nil, st.Dir, 0, progress.Events{})
	testcheck.Must(t, err)
	defer st.lock.Release()
	testcheck.Must(t, st.reopen())
	testcheck.Must(t, st.Record(history.EventSnapshotting, history.SnapshotRecord{Snapshot: "s", Created: 5}))
	testcheck.Must(t, st.Log.Close())
	first, err := journal.NewRecord(1, string(history.EventDiscarded), history.DiscardedRecord{Snapshot: &history.SnapshotRecord{Snapshot: "s", Created: 5}})
	testcheck.Must(t, err)
	// It cannot be replaced, because a directory has the name of the new file.
	inTheWay := filepath.Join(st.Dir, fmt.Sprintf("%s.%d.new", journal.FileName, os.Getpid()))
	testcheck.Must(t, os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700))
	if err := st.lock.Discard(first.Data); err == nil {
		t.Error("it was replaced")
	}
	if n := wholeRecords(t, filepath.Join(st.Dir, journal.FileName)); n != 1 {
		t.Errorf("the earlier journal has %d records, want 1", n)
	}
	testcheck.Must(t, os.RemoveAll(inTheWay))
	testcheck.Must(t, st.lock.Discard(first.Data))
	log, records, err := journal.Open(st.Dir)
	testcheck.Must(t, err)
	defer log.Close()
	if len(records) != 1 || records[0].Event != string(history.EventDiscarded) {
		t.Errorf("%+v", records)
	}
}

// TestJobsInPlaceOf checks that jobs that replace a table differ from jobs that add to it, and from jobs that replace another one.
func TestJobsInPlaceOf(t *testing.T) {
	name := func(text string) loader.TableName {
		n, err := loader.ParseTableName(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	plain := IdentifyParts(name("t2"), "a")
	seen := map[string]bool{}
	for _, i := range []Identity{plain, plain.InPlaceOf(name("t")), plain.InPlaceOf(name("u"))} {
		seen[i.On("c").ID], seen[i.Old] = true, true
	}
	if len(seen) != 6 {
		t.Errorf("%d digests of three jobs", len(seen))
	}
	if plain.InPlaceOf(name("t")).On("c") != plain.InPlaceOf(name("default:t")).On("c") {
		t.Error("one job is two")
	}
}
