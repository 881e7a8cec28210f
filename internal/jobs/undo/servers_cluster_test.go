package undo_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// TestUndoBySnapshotServersDie kills region servers while the table is out of service and their logs have edits of another user. The undo must end
// without an error only if the table is as before the load.
func TestUndoBySnapshotServersDie(t *testing.T) {
	race.Plain(t)
	if os.Getenv("BULKLOAD_FAULTS") == "" {
		t.Skip("BULKLOAD_FAULTS is not set: kills region servers, for a minute or more")
	}
	c := testcluster.Own(t, testcluster.Harmed())
	env := jobtest.ClusterEnv(t, c)
	n := &nights{t, c, env, jobtest.FreshTableAt(t, env, [][]byte{[]byte("k0150")}, func(f *loader.Family) { f.Versions = 1 }), t.TempDir()}
	n.load(1, 0, 200)
	want := n.digest()
	for i, after := range []string{"restoring", "restored", "restored"} {
		second, before := n.loadAfter(2+i, 100, 300)
		n.admin("put", n.table, "k0001", "f:w", "of another user")
		n.admin("put", n.table, "k0201", "f:w", "of another user")
		cmd := n.undoing(t.Context(), jobtest.Program(t), second, "BULKLOAD_TEST_STOP_AFTER="+after)
		cmd.Args = append(cmd.Args, "--by", "snapshot", "--discard-writes")
		out, err := cmd.CombinedOutput()
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("after %s: %v\n%s", after, err, out)
		}
		unnoticed := i == 2 // until a session at ZooKeeper ends, the master lists the server as live
		dead := []*testcluster.Daemon{c.Daemon(testcluster.RegionServer), c.Daemon(testcluster.RegionServer.Nth(2))}
		if unnoticed {
			dead = dead[:1]
		}
		for _, d := range dead {
			testcheck.Must(t, d.Kill(t.Context()))
			if !unnoticed {
				testcheck.Must(t, d.Restart(t.Context()))
			}
		}
		r, err := undo.Run(t.Context(), env, second, undo.Options{})
		if unnoticed {
			testcheck.Must(t, dead[0].Restart(t.Context()))
			testcheck.Must(t, dead[0].WaitReady(t.Context()))
		}
		n.admin("disable", n.table) // what the master has written into the regions' directories meanwhile is applied when they open
		n.admin("enable", n.table)
		got := n.digest()
		t.Logf("after %s: %v, as before %t", after, err, got == want)
		switch {
		case err == nil && got != want:
			t.Fatalf("after %s: undone without an error, %+v, the table is %s, want %s", after, r, got, want)
		case err != nil && (fail.KindOf(err) != fail.Verify || !strings.Contains(err.Error(), "died meanwhile") || got == want):
			t.Fatalf("after %s: %v", after, err)
		}
		if err != nil { // the same command fails again, and range ends the undo
			if _, again := undo.Run(t.Context(), env, second, undo.Options{}); fail.KindOf(again) != fail.Verify {
				t.Fatalf("after %s, again: %v", after, again)
			}
			_, err := undo.Run(t.Context(), env, second, undo.Options{Verify: "range"})
			testcheck.Must(t, err)
			n.admin("restore", n.table, before)
		}
		n.drop(before)
	}
}
