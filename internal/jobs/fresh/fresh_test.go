package fresh

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// name returns the name of a table.
func name(t testing.TB, s string) loader.TableName {
	t.Helper()
	n, err := loader.ParseTableName(s)
	testcheck.Must(t, err)
	return n
}

// entry is a record of a journal.
type entry struct {
	event history.Event
	data  any
}

// complete returns the records of a job whose table is loaded and verified.
func complete(old, new string) []entry {
	made := &history.TableRecord{Cluster: "c", State: 5}
	return []entry{
		{history.EventFresh, history.FreshRecord{Table: new, From: old, Old: made, Made: made}},
		{history.EventPlan, history.PlanRecord{Table: new, Made: made}},
		{history.EventDone, history.DoneRecord{Result: &result.Result{Schema: 1, Table: new, Verify: &result.Verification{Mode: "full"}}}},
	}
}

// writeJob creates a job's directory with a journal.
func writeJob(t testing.TB, dir string, entries []entry) string {
	t.Helper()
	testcheck.Must(t, os.MkdirAll(dir, 0o700))
	st, err := checkpoint.OpenDir(t.Context(), nil, dir, 0, progress.Events{})
	testcheck.Must(t, err)
	for _, e := range entries {
		testcheck.Must(t, st.Record(e.event, e.data))
	}
	testcheck.Must(t, st.Close())
	return dir
}

// journal returns the text of a job's journal.
func journal(t testing.TB, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	testcheck.Must(t, err)
	return string(b)
}

// refused checks for an error of kind Check that names the old table.
func refused(t *testing.T, what string, err error, says string) {
	t.Helper()
	if fail.KindOf(err) != fail.Check || !strings.HasPrefix(err.Error(), "table t is not dropped: ") || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: kind %d, %v, want %q", what, fail.KindOf(err), err, says)
	}
}

// TestReady checks that the old table is dropped only if the journal is complete; each missing part has its own refusal.
func TestReady(t *testing.T) {
	whole := func() *history.History {
		made := &history.TableRecord{State: 5}
		return &history.History{Fresh: &history.FreshRecord{Table: "t2", From: "t", Old: made, Made: made}, Plan: &history.PlanRecord{Made: made}, Finished: true,
			Result: &result.Result{Verify: &result.Verification{Mode: "sample"}}}
	}
	o := DropOptions{Old: name(t, "t"), New: name(t, "t2")}
	if err := ready(whole(), o); err != nil {
		t.Errorf("a job that is complete: %v", err)
	}
	for what, c := range map[string]struct {
		change func(*history.History)
		says   string
	}{
		"another kind of job":     {func(h *history.History) { h.Fresh = nil }, "the job did not make table t2 to replace it"},
		"another new table":       {func(h *history.History) { h.Fresh.Table = "t3" }, "the job did not make table t2"},
		"another old table":       {func(h *history.History) { h.Fresh.From = "t0" }, "the job did not make table t2"},
		"not finished":            {func(h *history.History) { h.Finished = false }, "is not finished"},
		"undone":                  {func(h *history.History) { h.Undo = &history.Undoing{} }, "was undone or is being undone"},
		"no plan":                 {func(h *history.History) { h.Plan = nil }, "has no outcome for table t2"},
		"a plan of no table":      {func(h *history.History) { h.Plan.Made = nil }, "has no outcome for table t2"},
		"no result":               {func(h *history.History) { h.Result = nil }, "has no outcome for table t2"},
		"no verification":         {func(h *history.History) { h.Result.Verify = nil }, "was not verified"},
		"verification off":        {func(h *history.History) { h.Result.Verify.Mode = "off" }, "was not verified"},
		"a verification of ended": {func(h *history.History) { h.Result.Verify.Expired = true }, "cells had expired"},
	} {
		h := whole()
		c.change(h)
		refused(t, what, ready(h, o), c.says)
	}
	unverified := whole()
	unverified.Result.Verify = nil
	if names := setting.Of(ready(unverified, o)); !slices.Equal(names, []setting.Name{setting.Verify}) {
		t.Errorf("what helps names %v", names)
	}
}

// TestDropOfJournal checks that a drop that the journal refuses, or already has, needs no cluster and writes nothing.
func TestDropOfJournal(t *testing.T) {
	env := jobtest.Env(t) // has no cluster
	all := complete("t", "t2")
	o := DropOptions{Old: name(t, "t"), New: name(t, "t2")}
	for what, c := range map[string]struct {
		entries []entry
		says    string
	}{
		"nothing done":   {nil, "the job did not make table t2 to replace it"},
		"made":           {all[:1], "is not finished"},
		"planned":        {all[:2], "is not finished"},
		"another's":      {complete("u", "t2"), "the job did not make table t2 to replace it"},
		"not verified":   {slices.Concat(all[:2], []entry{{history.EventDone, history.DoneRecord{Result: &result.Result{}}}}), "was not verified"},
		"being undone":   {slices.Concat(all, []entry{{history.EventUndoing, history.UndoRecord{Timestamp: 7}}}), "was undone or is being undone"},
		"without a plan": {slices.Concat(all[:1], all[2:]), "has no outcome for table t2"},
	} {
		dir := writeJob(t, filepath.Join(t.TempDir(), "t2-0123456789ab"), c.entries)
		before := journal(t, dir)
		d, err := Drop(t.Context(), env, dir, o)
		if d != nil {
			t.Errorf("%s: %+v", what, d)
		}
		refused(t, what, err, c.says)
		if after := journal(t, dir); after != before {
			t.Errorf("%s: the journal has\n%s", what, strings.TrimPrefix(after, before))
		}
	}
}

// TestDropWithoutCluster checks that a drop without a configured cluster writes nothing, and leaves the job free for the next call. An undo that was
// refused before does not matter.
func TestDropWithoutCluster(t *testing.T) {
	all := complete("t", "t2")
	for what, entries := range map[string][]entry{"complete": all, "an undo was refused": append(all, entry{history.EventUndoing, history.UndoRecord{}})} {
		dir := writeJob(t, filepath.Join(t.TempDir(), "t2-0123456789ab"), entries)
		before := journal(t, dir)
		for range 2 {
			d, err := Drop(t.Context(), jobtest.Env(t), dir, DropOptions{Old: name(t, "t"), New: name(t, "t2")})
			if d != nil || fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "ZooKeeper is unknown") {
				t.Errorf("%s: %+v, %v", what, d, err)
			}
		}
		if after := journal(t, dir); after != before {
			t.Errorf("%s: the journal has\n%s", what, strings.TrimPrefix(after, before))
		}
	}
}

// TestDropIsBusy checks that a job that another process works on is refused.
func TestDropIsBusy(t *testing.T) {
	dir := writeJob(t, filepath.Join(t.TempDir(), "t2-0123456789ab"), complete("t", "t2"))
	st, err := checkpoint.OpenDir(t.Context(), nil, dir, 0, progress.Events{})
	testcheck.Must(t, err)
	if _, err := Drop(t.Context(), jobtest.Env(t), dir, DropOptions{Old: name(t, "t"), New: name(t, "t2")}); fail.KindOf(err) != fail.Busy {
		t.Errorf("%v", err)
	}
	testcheck.Must(t, st.Close())
}

// TestFindJob checks that the job of two tables is found by both names: the newest of several, and an error if there is none.
func TestFindJob(t *testing.T) {
	state := t.TempDir()
	on := func(id string) func() (string, error) { return func() (string, error) { return id, nil } }
	for i, tables := range [][2]string{{"t", "t2"}, {"t", "t3"}, {"ns:t", "ns:t2"}, {"u", "t2"}} {
		writeJob(t, filepath.Join(state, strings.ReplaceAll(tables[1], ":", "_")+"-"+strings.Repeat(string(rune('a'+i)), 12)), complete(tables[0], tables[1]))
	}
	writeJob(t, filepath.Join(state, "t2-0123456789ab"), []entry{{history.EventPlan, history.PlanRecord{Table: "t2"}}}) // replaces no table
	testcheck.Must(t, os.MkdirAll(filepath.Join(state, "t2-ba9876543210"), 0o700))                                      // no journal
	for _, c := range []struct{ old, new, want string }{
		{"t", "t2", "t2-aaaaaaaaaaaa"}, {"t", "t3", "t3-bbbbbbbbbbbb"}, {"ns:t", "ns:t2", "ns_t2-cccccccccccc"}, {"u", "t2", "t2-dddddddddddd"},
		{"t2", "t", ""}, {"t", "t", ""}, {"ns:t", "t2", ""}, {"u", "t3", ""},
	} {
		dir, err := FindJob(state, name(t, c.old), name(t, c.new), on("c"))
		if c.want != "" && (err != nil || dir != filepath.Join(state, c.want)) {
			t.Errorf("%s in place of %s: %s, %v, want %s", c.new, c.old, dir, err, c.want)
		}
		if c.want == "" && (fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "made table "+name(t, c.new).String()+" to replace table "+name(t, c.old).String())) {
			t.Errorf("%s in place of %s: %s, %v", c.new, c.old, dir, err)
		}
	}
	newer := writeJob(t, filepath.Join(state, "t2-eeeeeeeeeeee"), complete("t", "t2"))
	if dir, err := FindJob(state, name(t, "t"), name(t, "t2"), on("c")); err != nil || dir != newer {
		t.Errorf("of two jobs: %s, %v", dir, err)
	}
	green := complete("t", "t2")
	green[0].data = history.FreshRecord{Table: "t2", From: "t", Old: &history.TableRecord{Cluster: "green"}}
	other := writeJob(t, filepath.Join(state, "t2-ffffffffffff"), green)
	for id, want := range map[string]string{"c": newer, "green": other} {
		if dir, err := FindJob(state, name(t, "t"), name(t, "t2"), on(id)); err != nil || dir != want {
			t.Errorf("of cluster %s: %s, %v", id, dir, err)
		}
	}
	if _, err := FindJob(state, name(t, "t"), name(t, "t2"), on("third")); fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "on this cluster") {
		t.Errorf("of another cluster: %v", err)
	}
	if _, err := FindJob(filepath.Join(state, "none"), name(t, "t"), name(t, "t2"), on("c")); fail.KindOf(err) != fail.Input {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := FindJob(filepath.Join(newer, "journal.jsonl"), name(t, "t"), name(t, "t2"), on("c")); fail.KindOf(err) != fail.Config || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file: %v", err)
	}
}

// TestKeptSplits checks that a warning names a table of an earlier attempt that has other split points than are requested.
func TestKeptSplits(t *testing.T) {
	points := func(keys ...string) (rows [][]byte) {
		for _, key := range keys {
			rows = append(rows, []byte(key))
		}
		return rows
	}
	for _, c := range []struct {
		was, now [][]byte
		warns    bool
	}{
		{nil, nil, false},
		{points("3", "6"), points("3", "6"), false},
		{points("3", "6"), points("3", "7"), true},
		{points("3", "6"), nil, true},
		{nil, points("3"), true},
	} {
		var warned []any
		m := &maker{Request: Request{New: name(t, "t2"), Events: progress.Events{OnWarn: func(_ string, kv ...any) { warned = kv }}},
			job: &checkpoint.Job{History: history.History{Fresh: &history.FreshRecord{Splits: rowkey.Keys(c.was)}}}}
		m.warnOfSplits(c.now)
		want := []any{"table", "t2", "regions", len(c.was) + 1, "requested", len(c.now) + 1}
		if c.warns != (warned != nil) || c.warns && !slices.Equal(warned, want) {
			t.Errorf("%q, now %q: %v", c.was, c.now, warned)
		}
	}
}

// TestForgetNothing checks that starting over a job that has made no table, or is finished, contacts no cluster and writes nothing, and that an
// invalid table name in a journal is refused.
func TestForgetNothing(t *testing.T) {
	made := &history.TableRecord{State: 5}
	for what, c := range map[string]struct {
		h    history.History
		says string
	}{
		"no table":    {history.History{}, ""},
		"not made":    {history.History{Fresh: &history.FreshRecord{Table: "t2"}}, ""},
		"finished":    {history.History{Fresh: &history.FreshRecord{Table: "t2", Made: made}, Finished: true}, ""},
		"no name":     {history.History{Fresh: &history.FreshRecord{Table: "a:b:c", Made: made}}, "a:b:c"},
		"empty names": {history.History{Fresh: &history.FreshRecord{Made: made}}, "table"},
	} {
		err := Forget(t.Context(), nil, nil, &checkpoint.Job{History: c.h}, progress.Events{})
		if (err == nil) != (c.says == "") || err != nil && (fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestResult checks that a result has the coprocessors of the descriptor, in order, in any capitalization of their keys.
func TestResult(t *testing.T) {
	before := &result.Before{Rows: 3}
	r := Result(&history.FreshRecord{Table: "t2", From: "t", Compared: before}, &loader.Table{Attributes: map[string]string{
		"coprocessor$2": "|b|2|", "COPROCESSOR$1": "|c|1|", "Coprocessor$10": "|a|3|", "coprocessors": "no", "MAX_FILESIZE": "7", "xcoprocessor$1": "no"}})
	if r.From != "t" || r.Before != before || !slices.Equal(r.Coprocessors, []string{"|a|3|", "|b|2|", "|c|1|"}) {
		t.Errorf("%+v", r)
	}
	if r := Result(&history.FreshRecord{From: "t"}, &loader.Table{}); r.Coprocessors != nil || r.Before != nil {
		t.Errorf("without any: %+v", r)
	}
}
