package undo_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
)

// TestUndoBySnapshot undoes a night that markers cannot undo, since a compaction has dropped the overwritten cells, by the snapshot from before it:
// first into a new table, and then in place, if others lose nothing, or if that is allowed.
func TestUndoBySnapshot(t *testing.T) {
	t.Parallel()
	n := newNights(t, 1, "ROW")
	n.load(1, 0, 200)
	n.admin("put", n.table, "k0003", "f:v", "newer than the load")
	want := n.digest()
	second, before := n.loadAfter(2, 100, 300)
	n.compact()
	n.admin("split", n.table, "k0120")
	_, err := undo.Run(t.Context(), n.env, second, undo.Options{})
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "snapshot restores snapshot "+before) {
		t.Fatalf("markers are not refused, or the other way is not named: %v", err)
	}
	with := n.digest()
	o := undo.Options{By: undo.BySnapshot}
	dry, err := undo.Run(t.Context(), n.env, second, undo.Options{By: undo.BySnapshot, DryRun: true})
	if err != nil || dry.Restore.Removed != 600 || dry.Restore.Restored != 300 || dry.Restore.Loses() || dry.Restore.Before.Rows != 200 || n.digest() != with {
		t.Fatalf("predicted is %+v, %v", dry.Restore, err)
	}
	n.only(before)

	o.Into = n.table + "_before"
	made, err := undo.Run(t.Context(), n.env, second, o)
	if err != nil || made.Into != o.Into || n.digestOf(o.Into) != want || n.digest() != with {
		t.Fatalf("into a new table: %+v, %v", made, err)
	}
	if s, err := status.Read(second); err != nil || s.Undo != "" || s.Copied == nil || s.Copied.Into != o.Into || len(s.Resources) > 0 {
		t.Errorf("status says %+v, %v", s, err)
	}
	if again, err := undo.Run(t.Context(), n.env, second, o); err != nil || !again.Already || again.DoneAt.IsZero() || again.Restore == nil {
		t.Errorf("into a new table once more: %+v, %v", again, err)
	}
	n.admin("drop", o.Into)
	if next, err := undo.Run(t.Context(), n.env, second, o); err != nil || next.Already || n.digestOf(o.Into) != want {
		t.Errorf("after the new table was dropped: %+v, %v", next, err)
	}
	other := undo.Options{By: undo.BySnapshot, Into: n.table + "_other"}
	n.admin("create", other.Into, "--family", "f")
	if _, err := undo.Run(t.Context(), n.env, second, other); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a table that exists is taken: %v", err)
	}

	n.admin("drop", other.Into)
	n.admin("drop", o.Into)
	o.Into = ""
	r, err := undo.Run(t.Context(), n.env, second, o)
	if err != nil || r.Verify != "full" || r.Snapshot != "" {
		t.Fatalf("in place: %+v, %v", r, err)
	}
	n.undoneBy(second, want, "in place", before)
	if again, err := undo.Run(t.Context(), n.env, second, o); err != nil || !again.Already || again.Restore == nil {
		t.Errorf("once more: %+v, %v", again, err)
	}
	o.Into = n.table + "_late"
	if _, err := undo.Run(t.Context(), n.env, second, o); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "undone already") {
		t.Errorf("into a new table after the undo: %v", err)
	}
}

// undoneBy checks that the table is as wanted and in service, and that nothing is left of the undo but these snapshots.
func (n *nights) undoneBy(dir, want, what string, snapshots ...string) {
	n.t.Helper()
	if got := n.digest(); got != want {
		n.t.Fatalf("%s: the table is %s, before the night %s", what, got, want)
	}
	n.only(snapshots...)
	if s, err := status.Read(dir); err != nil || s.Undo != history.UndoDone || s.Offline || len(s.Resources) > 0 {
		n.t.Fatalf("%s: status says %+v, %v", what, s, err)
	}
}

// TestUndoBySnapshotLoses checks that later writes and deletes of others are counted by row and cell and refuse the undo, as does the load of another
// job and a changed setting; if the losses are allowed, the snapshot from before the undo is kept.
func TestUndoBySnapshotLoses(t *testing.T) {
	t.Parallel()
	n := newNights(t, 1, "ROW")
	n.load(1, 0, 200)
	want := n.digest()
	second, before := n.loadAfter(2, 100, 300)
	third, _ := n.load(3, 290, 310)
	n.admin("put", n.table, "k0120", "f:v", "of another user")
	n.admin("put", n.table, "k9999", "f:v", "of another user")
	n.admin("delete", n.table, "k0010")
	with := n.digest()
	for _, dry := range []bool{true, false} {
		r, err := undo.Run(t.Context(), n.env, second, undo.Options{By: undo.BySnapshot, DryRun: dry})
		s := r.Restore
		if fail.KindOf(err) != fail.Check || len(r.Refused) != 3 || s.Written != 62 || s.Deleted != 3 || s.Rows != 23 || !slices.Equal(s.Jobs, []string{filepath.Base(third)}) {
			t.Fatalf("predicted is %+v, %q, %v", s, r.Refused, err)
		}
		n.only(before)
	}
	if s, err := status.Read(second); err != nil || s.Undo != "" || n.digest() != with {
		t.Fatalf("a refused undo leaves %+v, %v", s, err)
	}
	for what, o := range map[string]undo.Options{
		"does not exist": {By: undo.BySnapshot, Snapshot: before + "x"},
		"had begun":      {By: undo.BySnapshot, Snapshot: n.snapshotNow("after")},
		"own table":      {By: undo.BySnapshot, Into: n.table},
	} {
		if _, err := undo.Run(t.Context(), n.env, second, o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	n.drop(n.name() + "-after")
	r, err := undo.Run(t.Context(), n.env, second, undo.Options{By: undo.BySnapshot, Discard: true})
	if err != nil || r.Snapshot == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	kept := []string{r.Snapshot, before}
	slices.Sort(kept)
	n.undoneBy(second, want, "others have lost their cells", kept...)
	n.admin("restore", n.table, r.Snapshot) // and deletes the snapshot
	if got := n.digest(); got != with {
		t.Errorf("the snapshot that is kept has %s, want %s", got, with)
	}
}

// TestUndoBySnapshotKilled checks that after an undo by a snapshot is killed after any of its records, status shows the table's state, and the same
// command ends the undo. Writes of others after the kill, while the table is still in service, are not lost.
func TestUndoBySnapshotKilled(t *testing.T) {
	t.Parallel()
	n := newNights(t, 1, "ROW")
	bin := jobtest.Program(t)
	n.load(1, 0, 200)
	for i, after := range []string{"undoing", "read_snapshot:3", "restoring", "restored", "restoring: gone", "restoring: clean"} {
		after, then, _ := strings.Cut(after, ": ")
		want := n.digest()
		second, before := n.loadAfter(10+i, 100, 300)
		n.compact()
		cmd := n.undoing(t.Context(), bin, second, "BULKLOAD_TEST_STOP_AFTER="+after)
		cmd.Args = append(cmd.Args, "--by", "snapshot")
		out, err := cmd.CombinedOutput()
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("after %s: %v\n%s", after, err, out)
		}
		s, err := status.Read(second)
		if err != nil || s.Undo != history.UndoRunning || !s.Offline {
			t.Fatalf("after %s: status says %+v, %v", after, s, err)
		}
		switch then {
		case "gone": // the snapshot is deleted before the request to the master
			n.drop(before)
			_, err := undo.Run(t.Context(), n.env, second, undo.Options{})
			if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "the snapshot does not exist") || n.digest() == want {
				t.Fatalf("without the snapshot: %v", err)
			}
			n.only()
			if s, err := status.Read(second); err != nil || s.Undo != "" || s.Offline {
				t.Fatalf("without the snapshot status says %+v, %v", s, err)
			}
			continue
		case "clean":
			n.giveUp(second, before)
			continue
		}
		if after == "undoing" { // the table is still in service
			n.admin("put", n.table, "k0001", "f:w", "of another user")
			_, err := undo.Run(t.Context(), n.env, second, undo.Options{})
			if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "1 cell would be lost") {
				t.Fatalf("a cell of another user is lost: %v", err)
			}
			n.only(before)
			n.drop(before)
			n.compact()
			if s, err := status.Read(second); err != nil || s.Undo != "" || s.Offline {
				t.Fatalf("withdrawn: status says %+v, %v", s, err)
			}
			continue
		}
		if _, err := undo.Run(t.Context(), n.env, second, undo.Options{}); err != nil {
			t.Fatalf("after %s: the same command gives %v", after, err)
		}
		n.undoneBy(second, want, "after "+after, before)
		n.drop(before)
	}
}

// giveUp removes the job with its undo, which puts the table into service in its current state.
func (n *nights) giveUp(dir string, kept ...string) {
	n.t.Helper()
	o := checkpoint.CleanOptions{State: n.state, Staging: "/tmp/none", Job: filepath.Base(dir), Remove: true}
	if _, err := checkpoint.Clean(n.t.Context(), n.env, o); err != nil {
		n.t.Fatal(err)
	}
	if s, err := status.Read(dir); err != nil || !s.Offline {
		n.t.Fatalf("a job whose undo is under way is removed: %+v, %v", s, err)
	}
	o.Force = true
	if _, err := checkpoint.Clean(n.t.Context(), n.env, o); err != nil {
		n.t.Fatal(err)
	}
	n.digest() // fails unless the table is in service
	n.only(kept...)
}

// TestUndoBySnapshotRandomKills kills at random moments, with splits and merges of the table before and changes in between, in place and into a new
// table. BULKLOAD_UNDO_ROUNDS requests more rounds, BULKLOAD_UNDO_SEED repeats them.
func TestUndoBySnapshotRandomKills(t *testing.T) {
	t.Parallel()
	rounds, err := strconv.Atoi(os.Getenv("BULKLOAD_UNDO_ROUNDS"))
	if err != nil {
		rounds = 2
	}
	seed, err := strconv.ParseUint(os.Getenv("BULKLOAD_UNDO_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	t.Logf("BULKLOAD_UNDO_SEED=%d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	bin := jobtest.Program(t)
	n := newNightsOf(t, map[string]string{compactUnasked: "100"})
	n.load(1, 0, 200)
	want := n.digest()
	for round := range rounds {
		dir, before := n.loadAfter(round+2, 100, 300)
		act := [][]string{nil, {"major-compact"}, {"split", "k0111"}, {"merge", "k0074", "k0075"}}[draw.IntN(4)]
		if act != nil && (act[0] != "merge" || !strings.HasPrefix(n.cluster.Version(), "2.4.")) { // refused there: TestUndoBySnapshotMerged
			n.admin(append([]string{act[0], n.table}, act[1:]...)...)
		}
		args := []string{"--by", "snapshot"}
		into := ""
		if draw.IntN(3) == 0 {
			into = n.table + "_" + strconv.Itoa(round)
			args = append(args, "--into", into)
		}
		what := "round " + strconv.Itoa(round) + " " + into
		for range 1 + draw.IntN(3) {
			cmd := n.undoing(t.Context(), bin, dir)
			cmd.Args = append(cmd.Args, args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kill := time.AfterFunc(time.Duration(100+draw.IntN(5000))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			if cmd.Wait() == nil {
				kill.Stop()
				break
			}
			kill.Stop()
			trace, err := status.ReadTrace(dir)
			if err != nil {
				t.Fatal(err)
			}
			what += ", killed " + restoreStep(trace)
		}
		cmd := n.undoing(t.Context(), bin, dir)
		cmd.Args = append(cmd.Args, args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, out)
		}
		t.Log(what)
		if into != "" {
			if got := n.digestOf(into); got != want {
				t.Fatalf("%s: the new table is %s, want %s", what, got, want)
			}
			n.admin("drop", into)
			if _, err := undo.Run(t.Context(), n.env, dir, undo.Options{By: undo.BySnapshot}); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		n.undoneBy(dir, want, what, before)
		n.drop(before)
	}
}

// restoreStep returns the step where an undo by a snapshot was killed.
func restoreStep(trace *status.Trace) string {
	switch u := trace.Undo; {
	case u == nil && trace.Copied == nil:
		return "before anything"
	case u == nil || u.Done:
		return "at its end"
	case u.Out[0]:
		return "at the cleaning"
	case u.Restored:
		return "at the verification"
	case u.Restoring != nil:
		return "at the restore"
	}
	return "at the disabling"
}
