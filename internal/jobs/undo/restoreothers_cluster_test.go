package undo_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/status"
	"bulkload/internal/jobs/job"
	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/loader"
)

// TestUndoBySnapshotOfOtherJobs checks that jobs that markers cannot undo are undone by the snapshots that they took: a run that has replaced the
// table's rows and kept it quiet, and a load of a directory, whose cells cannot be distinguished. The requested number of snapshots of earlier jobs
// is kept.
func TestUndoBySnapshotOfOtherJobs(t *testing.T) {
	t.Parallel()
	n := newNights(t, 1, "ROW")
	n.load(1, 0, 200)
	want := n.digest()
	s := n.spec(2, 100, 300)
	s.Replace, s.MaxDeletes = true, "100%"
	before := n.name() + "-replaced"
	r, err := job.Run(t.Context(), n.env, jobtest.Resolve(t, s), job.RunOptions{State: checkpoint.Options{Dir: n.state}, Snapshot: before, Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.drop(before) })
	n.compact()
	if _, err := undo.Run(t.Context(), n.env, r.Job, undo.Options{}); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "restores snapshot "+before) {
		t.Errorf("a replacement is undone by markers, or the other way is not named: %v", err)
	}
	u, err := undo.Run(t.Context(), n.env, r.Job, undo.Options{By: undo.BySnapshot})
	if err != nil || u.Restore.Restored != 600 || u.Restore.Removed != 600 || u.Restore.Loses() {
		t.Fatalf("the replacement: %+v, %v", u.Restore, err)
	}
	n.undoneBy(r.Job, want, "the replacement", before)
	if d, err := n.cluster.AdminT(t).Run(t.Context(), "describe", n.table); err != nil || strings.Contains(d, "SPLIT_ENABLED => 'false'") {
		t.Errorf("the table is quiet: %s, %v", d, err)
	}

	loaded := n.loadDir(before + "2")
	n.only(before + "2") // the older one is deleted
	_, err = undo.Run(t.Context(), n.env, loaded, undo.Options{By: undo.BySnapshot})
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "600 cells would be lost that the snapshot lacks: the load's") {
		t.Errorf("a load of a directory: %v", err)
	}
	u, err = undo.Run(t.Context(), n.env, loaded, undo.Options{By: undo.BySnapshot, Discard: true})
	if err != nil || u.Snapshot == "" || !u.Restore.Unmarked {
		t.Fatalf("the load of a directory: %+v, %v", u, err)
	}
	kept := []string{before + "2", u.Snapshot}
	slices.Sort(kept)
	n.undoneBy(loaded, want, "the load of a directory", kept...)
	n.drop(u.Snapshot)
}

// TestUndoBySnapshotLost checks that an undo whose snapshots are gone, and whose table is out of service and perhaps restored in part, does not put the
// table into service, and names what gives the rows back.
func TestUndoBySnapshotLost(t *testing.T) {
	t.Parallel()
	n := newNights(t, 1, "ROW")
	bin := jobtest.Program(t)
	n.load(1, 0, 200)
	for i, says := range []string{"restore_snapshot 'OWN' in HBase's shell", "snapshot OWN of it is gone too"} {
		dir, before := n.loadAfter(2+i, 100, 300)
		with := n.digest()
		cmd := n.undoing(t.Context(), bin, dir, "BULKLOAD_TEST_STOP_AFTER=restoring")
		cmd.Args = append(cmd.Args, "--by", "snapshot")
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Fatalf("the undo was not killed: %s", out)
		}
		n.drop(before)
		own := n.left("/hbase/.hbase-snapshot")[0]
		n.admin("enable", n.table)
		n.admin("put", n.table, "k0001", "f:w", "not in the snapshot of the undo")
		n.admin("disable", n.table)
		if i == 1 {
			n.drop(own)
		}
		for range 2 {
			_, err := undo.Run(t.Context(), n.env, dir, undo.Options{})
			if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), strings.ReplaceAll(says, "OWN", own)) || !strings.Contains(err.Error(), checkpoint.CleanByForce(filepath.Base(dir)).String()) {
				t.Fatalf("without the snapshot: %v", err)
			}
			if s, err := status.Read(dir); err != nil || !s.Offline {
				t.Fatalf("status says %+v, %v", s, err)
			}
		}
		if i == 0 {
			n.admin("enable", n.table)
			n.admin("restore", n.table, own) // and deletes the snapshot
			if got := n.digest(); got != with {
				t.Errorf("the table is %s, want %s", got, with)
			}
		}
		n.giveUp(dir)
	}
}

// loadDir builds a night's files and loads their directory after a snapshot, the only one to be kept. It returns the directory of the load's job.
func (n *nights) loadDir(snapshot string) string {
	n.t.Helper()
	n.program("load", "--table", n.table, "--state", n.state, "--snapshot", snapshot, "--keep-snapshots", "1", n.files(3))
	n.t.Cleanup(func() { n.drop(snapshot) })
	jobs, err := status.ReadAll(n.state)
	if err != nil {
		n.t.Fatal(err)
	}
	return jobs[0].Dir
}

// files builds a night's files in a directory.
func (n *nights) files(night int) (dir string) {
	n.t.Helper()
	dir = filepath.Join(n.t.TempDir(), "files")
	n.program("build", "--table", n.table, "--key", "id", "--input", n.spec(night, 100, 300).Inputs[0], "--out", dir)
	return dir
}

// program runs bulkload.
func (n *nights) program(args ...string) {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), jobtest.Program(n.t), args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+n.cluster.ConfDir(), "HBASE_CONF_DIR="+n.cluster.ConfDir(), "HADOOP_USER_NAME=tina")
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("%s: %v\n%s", args, err, out)
	}
}

// loadAfter loads a night after taking a snapshot, which is deleted at the end of the test.
func (n *nights) loadAfter(night, from, to int) (dir, snapshot string) {
	n.t.Helper()
	snapshot = n.name() + "-before" + strconv.Itoa(night)
	r, err := job.Run(n.t.Context(), n.env, jobtest.Resolve(n.t, n.spec(night, from, to)), job.RunOptions{State: checkpoint.Options{Dir: n.state}, Snapshot: snapshot})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { n.drop(snapshot) })
	return r.Job, snapshot
}

// name returns the table's name without its namespace.
func (n *nights) name() string {
	return n.table[strings.IndexByte(n.table, ':')+1:]
}

// drop deletes a snapshot.
func (n *nights) drop(snapshot string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.t.Context()), time.Minute)
	defer cancel()
	c, err := n.env.Dial(ctx)
	if err != nil {
		return
	}
	defer c.Close()
	if name, err := loader.ParseTableName(n.table); err == nil {
		_ = c.DeleteSnapshot(ctx, name, snapshot)
	}
}

// digestOf returns the digest of a table, read by the Java client.
func (n *nights) digestOf(table string) string {
	n.t.Helper()
	d, err := n.cluster.AdminT(n.t).Digest(n.t.Context(), table)
	if err != nil {
		n.t.Fatal(err)
	}
	return d
}

// only checks that the table has exactly these snapshots.
func (n *nights) only(snapshots ...string) {
	n.t.Helper()
	if left := n.left("/hbase/.hbase-snapshot"); !slices.Equal(left, snapshots) {
		n.t.Errorf("snapshots are %q, want %q", left, snapshots)
	}
}

// snapshotNow takes a snapshot of the table.
func (n *nights) snapshotNow(name string) string {
	n.t.Helper()
	c, err := n.env.Dial(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	defer c.Close()
	table, err := loader.ParseTableName(n.table)
	if err == nil {
		err = c.Snapshot(n.t.Context(), table, n.name()+"-"+name, 0)
	}
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { n.drop(n.name() + "-" + name) })
	return n.name() + "-" + name
}
