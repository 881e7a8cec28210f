package undo_test

import (
	"context"
	"errors"
	"fmt"
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
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// undoing returns the command in a separate process.
func (n *nights) undoing(ctx context.Context, program, dir string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, "undo", "--state", n.state, "--job", filepath.Base(dir))
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+n.cluster.ConfDir(), "HBASE_CONF_DIR="+n.cluster.ConfDir(), "HADOOP_USER_NAME=tina")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// newNightsOf returns nights on a table of one version with further settings of its family, and regions of 75 rows.
func newNightsOf(t *testing.T, settings map[string]string) *nights {
	t.Helper()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	table := jobtest.FreshTableAt(t, env, [][]byte{[]byte("k0075"), []byte("k0150"), []byte("k0225")}, func(f *loader.Family) { f.Versions, f.Attributes = 1, settings })
	return &nights{t, c, env, table, t.TempDir()}
}

// compactUnasked is the number of files from which HBase compacts a store by itself.
const compactUnasked = "hbase.hstore.compaction.min"

// admin runs a command of the Java client, and ignores refusals because of the table's regions.
func (n *nights) admin(args ...string) {
	n.t.Helper()
	if out, err := n.cluster.AdminT(n.t).Run(n.t.Context(), args...); err != nil {
		n.t.Logf("%s: %v %s", args, err, out)
	}
}

// undone checks that the table is as wanted, and that nothing is left of the undo.
func (n *nights) undone(dir, want, what string) {
	n.t.Helper()
	if got := n.digest(); got != want {
		n.t.Fatalf("%s: the table is %s, without the night %s", what, got, want)
	}
	n.leftNothing()
	if s, err := status.Read(dir); err != nil || s.Undo != history.UndoDone {
		n.t.Fatalf("%s: status says %+v, %v", what, s, err)
	}
	if n.t.Failed() {
		n.t.FailNow()
	}
}

// TestUndoKilledAndCompacted checks that an undo that is killed after any of its records is resumed by the same command, with the predicted table,
// whatever a compaction has dropped meanwhile, and whether or not the staging directory still exists. The table keeps one version.
func TestUndoKilledAndCompacted(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, map[string]string{compactUnasked: "100"})
	bin := jobtest.Program(t)
	n.load(1, 0, 200)
	want := n.digest()
	second := n.spec(2, 100, 300)
	for _, c := range []struct {
		after string
		then  []string // commands of the cluster's administrator
		lost  bool     // whether the staging directory is lost
	}{
		{"undoing", nil, false},
		{"markers", []string{"major-compact"}, false},
		{"markers", nil, true},
		{"loading", []string{"major-compact"}, true},
		{"sending", []string{"major-compact"}, false},
		{"sending", nil, true},
		{"loaded", []string{"major-compact"}, true},
		{"loaded:2", nil, false},
		{"read_snapshot", []string{"split", "k0120"}, false},
		{"read_snapshot:2", []string{"merge", "k0120", "k0119"}, false},
		{"table_undone", []string{"major-compact"}, true},
		{"undone", nil, false},
	} {
		what := fmt.Sprintf("after %s, %v, staging lost %t", c.after, c.then, c.lost)
		r, err := n.run(second, checkpoint.Options{Restart: true})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		out, err := n.undoing(t.Context(), bin, r.Job, "BULKLOAD_TEST_STOP_AFTER="+c.after).CombinedOutput()
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: %v\n%s", what, err, out)
		}
		trace, err := status.ReadTrace(r.Job)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := status.Read(r.Job); err != nil || s.Undo != history.UndoRunning && c.after != "undone" {
			t.Fatalf("%s: status says %+v, %v", what, s, err)
		}
		if len(c.then) > 0 {
			n.admin(append([]string{c.then[0], n.table}, c.then[1:]...)...)
		}
		if c.lost {
			fsys, name, err := n.env.Resolve(trace.Undo.Of(0).Staging)
			if err == nil {
				err = fsys.RemoveAll(t.Context(), name)
			}
			if err != nil && c.after != "table_undone" {
				t.Fatal(err)
			}
		}
		if out, err := n.undoing(t.Context(), bin, r.Job).CombinedOutput(); err != nil || strings.Contains(string(out), "not resolved within") {
			t.Fatalf("%s: the same command gives %v\n%s", what, err, out)
		}
		n.undone(r.Job, want, what)
	}
}

// failingGate lets a number of calls pass, and then fails.
type failingGate struct{ left int }

func (g *failingGate) Wait(context.Context) error {
	if g.left--; g.left < 0 {
		return errors.New("the gate is closed")
	}
	return nil
}

// TestUndoLoadFails checks that a load of markers that fails after some regions have them leaves the undo under way, with its snapshot, however often
// it fails; and that the command that succeeds ends it.
func TestUndoLoadFails(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, map[string]string{compactUnasked: "100"})
	n.load(1, 0, 200)
	want := n.digest()
	second, spec := n.load(2, 100, 300)
	with := n.digest()
	some := false // an attempt has failed with a part of the load removed
	for left := 1; ; left++ {
		_, err := undo.Run(t.Context(), n.env, second, undo.Options{Gate: &failingGate{left}, LoadConcurrency: 1})
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "the gate is closed") || left > 20 {
			t.Fatalf("after %d pieces: %v", left, err)
		}
		s, err := status.Read(second)
		if err != nil || s.Undo != history.UndoRunning {
			t.Fatalf("after %d pieces status says %+v, %v", left, s, err)
		}
		if got := n.digest(); got != with && got != want {
			some = true
			n.compact()
		}
		if _, err := n.run(spec, checkpoint.Options{Restart: true}); fail.KindOf(err) != fail.Check {
			t.Errorf("a job whose undo is under way runs: %v", err)
		}
	}
	if !some {
		t.Error("no load has failed half-way")
	}
	n.undone(second, want, "after loads that failed")
}

// TestUndoDeletedCellsKept checks that a family of one version with KEEP_DELETED_CELLS is refused, since it would lose cells to be restored.
func TestUndoDeletedCellsKept(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, map[string]string{compactUnasked: "100", "KEEP_DELETED_CELLS": "TRUE"})
	n.load(1, 0, 200)
	second, _ := n.load(2, 100, 300)
	with := n.digest()
	r, err := undo.Run(t.Context(), n.env, second, undo.Options{})
	if fail.KindOf(err) != fail.Check || len(r.Refused) != 1 || !strings.Contains(r.Refused[0], "KEEP_DELETED_CELLS") {
		t.Errorf("refused is %+v, %v", r, err)
	}
	if got := n.digest(); got != with {
		t.Errorf("a refused undo has changed the table from %s to %s", with, got)
	}
	n.leftNothing()
}

// TestUndoOneAfterAnother undoes the newest night of a table of one version, and then the one before, whose cells are also next to the markers of the
// first undo. With a compaction in between, the second undo is refused.
func TestUndoOneAfterAnother(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, map[string]string{compactUnasked: "100"})
	n.load(1, 0, 200)
	first := n.digest()
	second, _ := n.load(2, 100, 300)
	with := n.digest()
	third, _ := n.load(3, 50, 250)
	if r, err := undo.Run(t.Context(), n.env, third, undo.Options{}); err != nil || r.Copies == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	n.undone(third, with, "the third night")
	if r, err := undo.Run(t.Context(), n.env, second, undo.Options{}); err != nil || r.Copies == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	n.undone(second, first, "the second night")
	n.compact()
	n.undone(second, first, "compacted")

	fourth, _ := n.load(4, 100, 300)
	fifth, _ := n.load(5, 100, 300)
	if _, err := undo.Run(t.Context(), n.env, fifth, undo.Options{}); err != nil {
		t.Fatal(err)
	}
	n.compact()
	with = n.digest()
	if _, err := undo.Run(t.Context(), n.env, fourth, undo.Options{}); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "a compaction rewrote") {
		t.Errorf("what the night has overwritten is gone: %v", err)
	}
	if got := n.digest(); got != with {
		t.Errorf("a refused undo has changed the table from %s to %s", with, got)
	}
}

// TestUndoDiffers checks that while a table is not as predicted, the snapshot from before the undo is never deleted.
func TestUndoDiffers(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, map[string]string{compactUnasked: "100"})
	n.load(1, 0, 200)
	second, _ := n.load(2, 100, 300)
	if out, err := n.undoing(t.Context(), jobtest.Program(t), second, "BULKLOAD_TEST_STOP_AFTER=sending").CombinedOutput(); err == nil {
		t.Fatalf("it is not killed: %s", out)
	}
	n.admin("put", n.table, "k0100", "f:v", "of another user")
	trace, err := status.ReadTrace(second)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := trace.Undo.Of(0).Snapshot
	kept := func() bool { return slices.Equal(n.left("/hbase/.hbase-snapshot"), []string{snapshot}) }
	for range 2 {
		_, err := undo.Run(t.Context(), n.env, second, undo.Options{})
		if fail.KindOf(err) != fail.Verify || !strings.Contains(err.Error(), snapshot) || !kept() {
			t.Fatalf("a table that others have written to: %v, snapshots are %q", err, n.left("/hbase/.hbase-snapshot"))
		}
		if s, err := status.Read(second); err != nil || s.Undo != history.UndoRunning {
			t.Fatalf("status says %+v, %v", s, err)
		}
	}
	done, err := undo.Run(t.Context(), n.env, second, undo.Options{Verify: "range"})
	if err != nil || done.Snapshot != snapshot || !kept() {
		t.Fatalf("ended by range: %+v, %v, snapshots are %q", done, err, n.left("/hbase/.hbase-snapshot"))
	}
	n.admin("restore", n.table, snapshot) // and deletes the snapshot
}

// TestUnreadableTable checks that if the snapshot reader cannot determine what readers see, diff, undo and a replacing run refuse the table, do not
// advise scans, and leave nothing.
func TestUnreadableTable(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"NEW_VERSION_BEHAVIOR", "IS_MOB"} {
		n := newNightsOf(t, map[string]string{setting: "true"})
		dir, s := n.load(1, 0, 200)
		_, diff := undo.Diff(t.Context(), n.env, dir, undo.DiffOptions{})
		_, dry := undo.Run(t.Context(), n.env, dir, undo.Options{DryRun: true})
		_, undone := undo.Run(t.Context(), n.env, dir, undo.Options{})
		s.Replace, s.Inputs = true, n.spec(2, 0, 200).Inputs
		_, replaced := n.run(s, checkpoint.Options{})
		for what, err := range map[string]error{"diff": diff, "a dry run": dry, "undo": undone, "a replacing run": replaced} {
			if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), setting) || strings.Contains(err.Error(), "scan") {
				t.Errorf("%s of a table with %s: %v", what, setting, err)
			}
		}
		n.leftNothing()
	}
}

// TestUndoRandomKills kills at random moments, with splits, merges and compactions in between. BULKLOAD_UNDO_ROUNDS requests more rounds,
// BULKLOAD_UNDO_SEED repeats them.
func TestUndoRandomKills(t *testing.T) {
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
	n := newNightsOf(t, map[string]string{compactUnasked: "8"})
	n.load(1, 0, 200)
	want := n.digest()
	for round := range rounds {
		from := draw.IntN(200)
		r, err := n.run(n.spec(round+2, from, from+20+draw.IntN(200)), checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		with := n.digest()
		what := fmt.Sprintf("round %d", round)
		for range 1 + draw.IntN(3) {
			cmd := n.undoing(t.Context(), bin, r.Job)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kill := time.AfterFunc(time.Duration(1000+draw.IntN(6000))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			kill.Stop()
			trace, err := status.ReadTrace(r.Job)
			if err != nil {
				t.Fatal(err)
			}
			what += fmt.Sprintf(", killed in %s", lastOf(trace))
			begun := trace.Undo != nil && trace.Undo.Built // otherwise it may be refused after a compaction
			key := fmt.Sprintf("k%04d", draw.IntN(300))
			act := [][]string{nil, {"major-compact"}, {"split", key}, {"merge", "k0074", "k0075"}, {"flush"}}[draw.IntN(5)]
			if len(act) > 0 && (begun || act[0] != "major-compact") {
				what += fmt.Sprint(", ", act)
				n.admin(append([]string{act[0], n.table}, act[1:]...)...)
			}
		}
		out, err := n.undoing(t.Context(), bin, r.Job).CombinedOutput()
		e, _ := errors.AsType[*exec.ExitError](err)
		if e != nil && e.ExitCode() == 3 && strings.Contains(string(out), "a compaction rewrote") && n.digest() == with {
			t.Logf("%s: refused", what) // it had not begun, and HBase has compacted by itself
			want = with
			n.leftNothing()
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", what, err, out)
		}
		t.Log(what)
		n.undone(r.Job, want, what)
	}
}

// lastOf returns the last step of an undo.
func lastOf(trace *status.Trace) string {
	switch u := trace.Undo; {
	case u == nil:
		return "nothing"
	case u.Done:
		return "its end"
	case len(u.Out) > 0:
		return "the cleaning"
	case len(trace.OwnSnapshots) > len(u.Tables)+1:
		return "a reading"
	case len(u.Sent) > 0:
		return "the load"
	case u.Built:
		return "the preparation"
	}
	return "the build"
}
