package testcluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/colinmarc/hdfs/v2"
)

func TestMain(m *testing.M) {
	if os.Getenv(echoEnv) != "" {
		echo()
	}
	if os.Getenv(holdClusterEnv) != "" {
		holdCluster()
	}
	Main(m)
}

const (
	emptyDigest = "rows=0 cells=0 sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	// row 0 family 0 qualifier 0 value 1, for the row "4x" with f:a = "hello".
	helloDigest = "rows=1 cells=1 sha256=ecb325faec9115c15d9b8b033311de553538d46ff4d10f1ada6fd6db09b0ba17"
)

func run(t *testing.T, a *Admin, args ...string) string {
	t.Helper()
	out, err := a.Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAdmin(t *testing.T) {
	a := Shared(t).AdminT(t)
	run(t, a, "create", "admin:t", "--splits", `3,\xff\x00`, "--compression", "snappy",
		"--encoding", "fast_diff", "--bloom", "rowcol", "--blocksize", "32768")
	if got := run(t, a, "digest", "admin:t"); got != emptyDigest {
		t.Errorf("digest of an empty table is %q", got)
	}
	description := run(t, a, "describe", "admin:t")
	for _, want := range []string{"SNAPPY", "FAST_DIFF", "ROWCOL", "32768"} {
		if !strings.Contains(description, want) {
			t.Errorf("no %s in %s", want, description)
		}
	}
	run(t, a, "put", "admin:t", "4x", "f:a", "hello")
	if got, err := a.Digest(t.Context(), "admin:t"); err != nil || got != helloDigest {
		t.Errorf("digest %q, %v", got, err)
	}
	if got := run(t, a, "count", "admin:t"); got != "1" {
		t.Errorf("count %q", got)
	}
	regions := func() int { return len(strings.Split(run(t, a, "regions", "admin:t"), "\n")) }
	if n := regions(); n != 3 {
		t.Fatalf("%d regions, not 3", n)
	}
	run(t, a, "split", "admin:t", "5")
	if n := regions(); n != 4 {
		t.Errorf("%d regions after a split, not 4", n)
	}
	run(t, a, "merge", "admin:t", "1", "4")
	if n := regions(); n != 3 {
		t.Errorf("%d regions after a merge, not 3", n)
	}
	run(t, a, "major-compact", "admin:t")
	if got := run(t, a, "get", "admin:t", "4x"); !strings.HasPrefix(got, "f:a\t") || !strings.HasSuffix(got, "\thello") {
		t.Errorf("get %q", got)
	}
	value := "tab\tline\nback\\slash 同意"
	run(t, a, "put", "admin:t", "5", "f:b", value, "7")
	if got := run(t, a, "get", "admin:t", "5"); !strings.HasPrefix(got, "f:b\t7\ttab\\x09line") {
		t.Errorf("get %q", got)
	}
	run(t, a, "truncate", "admin:t")
	if got := run(t, a, "digest", "admin:t"); got != emptyDigest {
		t.Errorf("digest after truncate is %q", got)
	}
	run(t, a, "drop", "admin:t")
	if got := run(t, a, "exists", "admin:t"); got != "false" {
		t.Errorf("the table exists after drop: %s", got)
	}
	if _, err := a.Run(t.Context(), "digest", "admin:t"); err == nil || !strings.Contains(err.Error(), "admin:t") {
		t.Errorf("digest of no table: %v", err)
	}
	if out, err := a.Run(t.Context(), "sing", "admin:t"); err == nil {
		t.Errorf("unknown command gives %q", out)
	}
}

// TestAdminGivenUp checks that an Admin whose call was canceled is replaced, and that its JVM ends.
func TestAdminGivenUp(t *testing.T) {
	c := Shared(t)
	a := c.AdminT(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Run(ctx, "servers"); !errors.Is(err, context.Canceled) {
		t.Fatalf("a call given up ends with %v", err)
	}
	b := c.AdminT(t)
	if a == b {
		t.Fatal("the dead admin client is given out again")
	}
	if got := run(t, b, "servers"); !strings.HasPrefix(got, "localhost,") {
		t.Errorf("servers %q", got)
	}
}

// HDFS permissions are enabled: an ordinary user may only write to /tmp and its home directory.
func TestPermissions(t *testing.T) {
	c := Shared(t)
	t.Setenv("HADOOP_USER_NAME", "")
	client, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: []string{strings.TrimPrefix(c.HDFS(), "hdfs://")}, User: "another"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Mkdir("/tmp/of-another", 0o755); err != nil {
		t.Error(err)
	} else if err := client.Remove("/tmp/of-another"); err != nil {
		t.Error(err)
	}
	if err := client.Mkdir("/hbase/data/of-another", 0o755); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("mkdir below /hbase: %v", err)
	}
}

// The daemons of a cluster that another handle started are killed, paused and restarted one by one, and the data are
// there after each.
func testFaults(t *testing.T, c *Cluster) {
	a := c.AdminT(t)
	run(t, a, "create", "faults", "--splits", "3")
	run(t, a, "put", "faults", "4x", "f:a", "hello")
	digest := func(after string) {
		t.Helper()
		if got := run(t, a, "digest", "faults"); got != helloDigest {
			t.Errorf("after %s: digest %q", after, got)
		}
	}

	server := c.Daemon(RegionServer)
	before := server.Pid()
	if err := server.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if server.Pid() != 0 {
		t.Error("a killed region server has a pid")
	}
	if err := server.WaitReady(t.Context()); !errors.Is(err, os.ErrProcessDone) || !strings.Contains(err.Error(), "INFO") {
		t.Errorf("waiting for a killed region server ends with no log lines or the wrong error: %v", err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := server.Pid(); now == 0 || now == before {
		t.Errorf("pid %d after a restart, %d before", now, before)
	}
	digest("the restart of a region server")
	run(t, a, "move", "faults", "4x")
	digest("a move")

	// The process of a paused DataNode exists and does not answer.
	node := c.Daemon(DataNode)
	if err := node.Pause(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := node.WaitReady(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a paused datanode: %v", err)
	}
	if node.Pid() == 0 {
		t.Error("a paused datanode has no pid")
	}
	if err := node.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := node.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}

	testSilence(t, c)
	digest("a region server and a master that were paused")

	master := c.Daemon(Master)
	if err := master.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := master.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	digest("the restart of the master")
	if c.Daemon(RegionServer.Nth(7)) != nil {
		t.Error("a handle for a daemon that the cluster has not")
	}
}

func identities(c *Cluster) []identity {
	var ids []identity
	for _, role := range c.Roles() {
		ids = append(ids, c.Daemon(role).current())
	}
	return ids
}

func mustBeGone(t *testing.T, ids []identity) {
	t.Helper()
	for _, id := range ids {
		if id.alive() {
			t.Errorf("process %d is left", id.Pid)
		}
	}
}

// waitGone waits for effects of the kernel that are asynchronous.
func waitGone(t *testing.T, ids []identity) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, id := range ids {
		if err := id.wait(ctx); err != nil {
			t.Error(err)
		}
	}
}
