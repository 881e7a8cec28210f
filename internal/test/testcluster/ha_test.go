package testcluster

import "testing"

// TestFailover kills the active NameNode under HBase, which finds the other one through the nameservice, and then
// switches back to the first one in an orderly way.
func TestFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster of its own")
	}
	ctx := t.Context()
	c, err := Start(ctx, Options{HA: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	active := func(want Role) {
		t.Helper()
		got, err := c.ActiveNameNode(ctx)
		must(err)
		if got != want {
			t.Fatalf("%s is active, not %s", got, want)
		}
	}
	if c.HDFS() != "hdfs://"+Nameservice {
		t.Errorf("file system %s", c.HDFS())
	}
	active(NameNode)
	a := c.AdminT(t)
	run(t, a, "create", "ha:t")
	must(c.Daemon(NameNode).Kill(ctx))
	to, err := c.Failover(ctx, NameNode)
	must(err)
	active(to)
	run(t, a, "put", "ha:t", "4x", "f:a", "hello")
	run(t, a, "flush", "ha:t")
	must(c.Daemon(NameNode).Restart(ctx))
	must(c.WaitReady(ctx))
	to, err = c.Failover(ctx, to)
	must(err)
	if active(NameNode); to != NameNode {
		t.Errorf("failed over to %s", to)
	}
	if got := run(t, a, "digest", "ha:t"); got != helloDigest {
		t.Errorf("after two failovers: %s", got)
	}
}
