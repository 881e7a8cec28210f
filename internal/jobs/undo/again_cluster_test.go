package undo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/jobs/job"
	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// TestUndoneDirectory checks that a directory of a run by directories whose load was undone does not count as done, although the last one does.
func TestUndoneDirectory(t *testing.T) {
	t.Parallel()
	n := newNights(t, 1, "ROW")
	in := t.TempDir()
	for i, name := range []string{"a", "b"} {
		dir := filepath.Join(in, name)
		testcheck.Must(t, os.Mkdir(dir, 0o700))
		testcheck.Must(t, os.Rename(n.spec(1, 100*i, 100*i+100).Inputs[0], filepath.Join(dir, "x.csv")))
	}
	s := spec.Spec{Table: n.table, Inputs: []string{in}, Key: "id"}
	o := job.RunOptions{State: checkpoint.Options{Dir: n.state}}
	r, err := job.RunParts(t.Context(), n.env, jobtest.Resolve(t, s), o)
	testcheck.Must(t, err)
	want := n.digest()
	_, err = undo.Run(t.Context(), n.env, r.Parts[0].Job, undo.Options{})
	testcheck.Must(t, err)
	without := n.digest()
	r, err = job.RunParts(t.Context(), n.env, jobtest.Resolve(t, s), o)
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "directory "+filepath.Join(in, "a")+" (1 of 2): this job was undone") ||
		!strings.Contains(err.Error(), "leave the directory out") {
		t.Errorf("with a directory whose load was undone: %v, %+v", err, r)
	}
	if got := n.digest(); got != without {
		t.Errorf("the table has %s, want %s", got, without)
	}
	s.Inputs = []string{filepath.Join(in, "a")}
	o.State.Restart = true
	_, err = job.Run(t.Context(), n.env, jobtest.Resolve(t, s), o)
	testcheck.Must(t, err)
	s.Inputs, o.State.Restart = []string{in}, false
	r, err = job.RunParts(t.Context(), n.env, jobtest.Resolve(t, s), o)
	if err != nil || !r.Already {
		t.Errorf("when it was loaded again: %v, %+v", err, r)
	}
	if got := n.digest(); got != want {
		t.Errorf("the table has %s, want %s", got, want)
	}
	emptied := filepath.Join(in, "a", "x.csv")
	testcheck.Must(t, os.Truncate(emptied, 0))
	_, err = job.RunParts(t.Context(), n.env, jobtest.Resolve(t, s), o)
	if fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "directory "+filepath.Dir(emptied)+" (1 of 2)") || !strings.Contains(err.Error(), "1 empty file") {
		t.Errorf("with a loaded file that is empty now: %v", err)
	}
}

// TestUndoneLoadOfADirectory checks that a load of a directory that was undone, or is being undone, does not count as done, in any verification mode.
func TestUndoneLoadOfADirectory(t *testing.T) {
	t.Parallel()
	n := newNights(t, 1, "ROW")
	before, dir := n.name()+"-before", n.files(1)
	without := n.digest()
	o := job.LoadOptions{RunOptions: job.RunOptions{State: checkpoint.Options{Dir: n.state}, Snapshot: before}}
	load := func() (string, error) {
		r, err := job.LoadDir(t.Context(), n.env, n.table, dir, o)
		if r == nil {
			return "", err
		}
		return r.Job, err
	}
	st, err := load()
	testcheck.Must(t, err)
	t.Cleanup(func() { n.drop(before) })
	with := n.digest()
	u, err := undo.Run(t.Context(), n.env, st, undo.Options{By: undo.BySnapshot, Discard: true})
	testcheck.Must(t, err)
	n.drop(u.Snapshot)
	if _, err := load(); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "this job was undone at") {
		t.Errorf("a load that was undone: %v", err)
	}
	if got := n.digest(); got != without {
		t.Errorf("the table has %s, want %s", got, without)
	}
	n.drop(before)
	o.State.Restart = true
	st, err = load()
	testcheck.Must(t, err)
	if got := n.digest(); got != with {
		t.Errorf("the table has %s, want %s", got, with)
	}
	n.killed(jobtest.Program(t), st, "undoing", "--by", "snapshot", "--discard-writes")
	for _, o.State.Restart = range []bool{false, true} {
		if _, err := load(); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "an undo of this job is under way") {
			t.Errorf("a load that is being undone, restart %v: %v", o.State.Restart, err)
		}
	}
	u, err = undo.Run(t.Context(), n.env, st, undo.Options{By: undo.BySnapshot, Discard: true})
	testcheck.Must(t, err)
	n.drop(u.Snapshot)
	if got := n.digest(); got != without {
		t.Errorf("the table has %s, want %s", got, without)
	}
}

// TestUndoOfTwins checks that undo does not take out the equal cells of another job with the same timestamp, unless that one is undone or its state is
// gone.
func TestUndoOfTwins(t *testing.T) {
	t.Parallel()
	n := newNights(t, 1, "ROW")
	s := n.spec(1, 0, 20)
	s.Timestamp = 1_700_000_000_000
	first, err := n.run(s, checkpoint.Options{JobID: "first"})
	testcheck.Must(t, err)
	second, err := n.run(s, checkpoint.Options{JobID: "second"})
	testcheck.Must(t, err)
	with := n.digest()
	for _, o := range []undo.Options{{DryRun: true}, {}} {
		r, err := undo.Run(t.Context(), n.env, second.Job, o)
		if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), filepath.Base(first.Job)) || len(r.Refused) != 1 {
			t.Errorf("dry run %t: %v, %+v", o.DryRun, err, r)
		}
	}
	if got := n.digest(); got != with {
		t.Errorf("the table has %s, want %s", got, with)
	}
	testcheck.Must(t, os.RemoveAll(first.Job))
	if _, err := undo.Run(t.Context(), n.env, second.Job, undo.Options{}); err != nil {
		t.Errorf("without the other job: %v", err)
	}
}
