package loader

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"golang.org/x/sync/errgroup"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestServersThatStart kills the master and the only region server, and calls them repeatedly during their restart. Calls are retried while a server
// answers ServerNotRunningYetException, or that its master is not initialized. Then files are loaded.
func TestServersThatStart(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Own(t, testcluster.Options{})
	b := newBenchOn(t, cluster, func(c *Config) { c.RootDir = "/hbase" })
	table := b.table(t, "m")
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)), b.hfile(t, b.fs, b.dir, "f", rowsOf("x", 10))}
	master, server := cluster.Daemon(testcluster.Master), cluster.Daemon(testcluster.RegionServer)
	testcheck.Must(t, errors.Join(master.Kill(t.Context()), server.Kill(t.Context())))
	var g errgroup.Group
	g.Go(func() error { return server.Restart(t.Context()) })
	g.Go(func() error { return master.Restart(t.Context()) })
	done := make(chan error, 1)
	go func() { done <- g.Wait() }()

	// Each round has its own connections and locations: cached data of the earlier servers do not help.
	calls := map[string]func(c *Cluster) error{
		"describe": func(c *Cluster) error { _, err := c.Describe(t.Context(), table); return err },
		"status":   func(c *Cluster) error { _, err := c.Status(t.Context()); return err },
		"regions":  func(c *Cluster) error { _, err := c.Regions(t.Context(), table); return err },
		"prepare": func(c *Cluster) error {
			token, err := c.Prepare(t.Context(), table)
			if err == nil {
				err = c.Cleanup(t.Context(), table, token)
			}
			return err
		},
	}
	rounds := 0
	for up := false; !up; rounds++ {
		select {
		case err := <-done:
			testcheck.Must(t, err)
			up = true
		default:
		}
		var round errgroup.Group
		for name, call := range calls {
			round.Go(func() error {
				c, err := Dial(t.Context(), b.cfg, slog.New(slog.DiscardHandler))
				if err != nil {
					return fmt.Errorf("dial for %s: %w", name, err)
				}
				defer c.Close()
				if err := call(c); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				return nil
			})
		}
		if err := round.Wait(); err != nil {
			t.Fatalf("round %d: %v", rounds, err)
		}
	}
	t.Logf("%d rounds of %d calls", rounds, len(calls))
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs})
	testcheck.Must(t, err)
	if report.Loaded != 2 {
		t.Errorf("report %+v", report)
	}
	b.checkRows(t, table, append(rowsOf("a", 10), rowsOf("x", 10)...), "f")
}
