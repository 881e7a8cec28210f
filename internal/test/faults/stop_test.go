package faults

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// stopsWithin is the time limit for a run to stop after SIGTERM or SIGINT.
const stopsWithin = 15 * time.Second

// TestQuickStops freezes daemons during a run and stops the run: it must stop in time whichever daemon does not answer,
// leave no partial file under a final name, and resume when it is run again.
func TestQuickStops(t *testing.T) {
	l := sharedLab(t)
	servers := []testcluster.Role{testcluster.RegionServer, testcluster.RegionServer.Nth(2)}
	for _, c := range []struct {
		name   string
		when   string
		frozen []testcluster.Role
		by     syscall.Signal
	}{
		{"sorting", "sorted", nil, syscall.SIGINT},
		{"loading", "sending", nil, syscall.SIGTERM},
		{"region servers", "sending", servers, syscall.SIGTERM},
		{"NameNode while writing", "written", []testcluster.Role{testcluster.NameNode}, syscall.SIGTERM},
		{"NameNode while loading", "sending", []testcluster.Role{testcluster.NameNode}, syscall.SIGINT},
		{"DataNodes", "written", []testcluster.Role{testcluster.DataNode, testcluster.DataNode.Nth(2)}, syscall.SIGTERM},
		{"all of HBase", "built", append([]testcluster.Role{testcluster.Master}, servers...), syscall.SIGTERM},
	} {
		t.Run(c.name, func(t *testing.T) {
			onlyWhole(t, slices.Contains([]string{"region servers", "NameNode while loading", "DataNodes"}, c.name))
			j := someRows()
			j.Before = 0
			r := begin(t, l, j)
			p := frozenAt(t, l, r, c.when)
			for _, role := range c.frozen {
				testcheck.Must(t, l.cluster.Daemon(role).Pause())
			}
			thaw := func() {
				for _, role := range c.frozen {
					testcheck.Must(t, l.cluster.Daemon(role).Resume())
				}
			}
			started := time.Now()
			p.signal(c.by)
			p.signal(syscall.SIGCONT)
			select {
			case <-p.done:
				t.Logf("it stopped after %.1f s", time.Since(started).Seconds())
			case <-time.After(stopsWithin):
				t.Errorf("it still runs %s after %v", stopsWithin, c.by)
			}
			thaw()
			testcheck.Must(t, p.wait(t.Context()))
			if p.exit != 128+int(c.by) {
				t.Errorf("exit code %d: %s", p.exit, p.lastError())
			}
			testcheck.Must(t, l.Heal(t.Context()))
			if got := give(t, l, r.argv[1:]...); got.exit != 0 {
				t.Fatalf("run again: exit code %d: %s", got.exit, got.lastError())
			}
			held(t, r)
		})
	}
}
