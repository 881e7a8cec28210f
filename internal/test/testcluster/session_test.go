package testcluster

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// testSilence pauses daemons of HBase until ZooKeeper is about to expire their sessions. They answer calls as soon as
// they continue, but may still find that their session has expired and end: they are ready only when ZooKeeper has heard
// from them.
func testSilence(t *testing.T, c *Cluster) {
	for role, znode := range map[Role]string{RegionServer: serverNode(t, c), Master: "/hbase/master"} {
		d := c.Daemon(role)
		if err := d.Pause(); err != nil {
			t.Fatal(err)
		}
		// Half a second before the end, so that it continues just in time.
		awaitSilence(t, c, znode, sessionTimeout-500*time.Millisecond)
		woken, err := monotonic()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Resume(); err != nil {
			t.Fatal(err)
		}
		err = d.WaitReady(t.Context())
		if errors.Is(err, os.ErrProcessDone) {
			t.Logf("%s ended: its session was over", role)
			err = errors.Join(d.Restart(t.Context()), c.WaitReady(t.Context()))
		} else if err == nil {
			if heard, unheard := c.lastHeard(t.Context(), znode); unheard != nil {
				t.Errorf("%s is called ready: %v", role, unheard)
			} else if heard < woken {
				t.Errorf("%s is called ready, and zookeeper heard of it %s before it continued", role, woken-heard)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// serverNode returns the ephemeral node of the running region server. The node of a killed one on the same port stays until its session
// expires: the current one has the latest start code, with which names end.
func serverNode(t *testing.T, c *Cluster) string {
	t.Helper()
	dump, err := c.askZooKeeper(t.Context(), "dump")
	if err != nil {
		t.Fatal(err)
	}
	latest := ""
	for line := range strings.Lines(dump) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "/hbase/rs/") && strings.Contains(line, fmt.Sprintf(",%d,", c.state.Ports.RegionServer[0])) {
			latest = max(latest, line)
		}
	}
	if latest == "" {
		t.Fatalf("no region server in %s", dump)
	}
	return latest
}

// awaitSilence waits until ZooKeeper has not heard from the owner of a node for the given time, or has expired its
// session.
func awaitSilence(t *testing.T, c *Cluster, znode string, least time.Duration) {
	t.Helper()
	testcheck.Eventually(t, time.Minute, "zookeeper does not hear of the owner of "+znode, func() (bool, any) {
		heard, err := c.lastHeard(t.Context(), znode)
		if err != nil {
			t.Logf("%s: %v", znode, err)
			return true, err
		}
		now, err := monotonic()
		testcheck.Must(t, err)
		return now-heard > least, now - heard
	})
}

func TestZooKeeperWords(t *testing.T) {
	const dump = "SessionTracker dump:\nSession Sets (1)/(2):\n2 expire at Thu Jan 01 00:00:20 UTC 1970:\n\t0x10000000000a\n\t0x10000000000b\n" +
		"ephemeral nodes dump:\nSessions with Ephemerals (2):\n0x10000000000a:\n\t/hbase/master\n\t/hbase/running\n" +
		"0x10000000000b:\n\t/hbase/rs/localhost,1,2\n"
	for znode, want := range map[string]string{
		"/hbase/master": "0x10000000000a", "/hbase/running": "0x10000000000a", "/hbase/rs/localhost,1,2": "0x10000000000b", "/hbase/rs/localhost,1": "",
	} {
		if got := sessionOf(dump, znode); got != want {
			t.Errorf("%s is held by %q, want %q", znode, got, want)
		}
	}
	const cons = " /127.0.0.1:4[1](queued=0,recved=8,sent=8,sid=0x10000000000a,lop=PING,est=5,to=10000,lcxid=0x1,lzxid=0x2,lresp=123456,llat=0,minlat=0,avglat=0,maxlat=1)\n" +
		" /127.0.0.1:5[0](queued=0,recved=1,sent=0)\n\n"
	if got, err := lastAnswer(cons, "0x10000000000a"); err != nil || got != 123456*time.Millisecond {
		t.Errorf("last answer at %s, %v", got, err)
	}
	for _, cons := range []string{cons, "sid=0x10000000000b,lresp=,", "sid=0x10000000000b,lop=PING"} {
		if got, err := lastAnswer(cons, "0x10000000000b"); err == nil {
			t.Errorf("last answer %s in %q", got, cons)
		}
	}
}
