package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/hadoop/registry"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

// daemonOf returns the region server that has a region.
func daemonOf(t *testing.T, cluster *testcluster.Cluster, r Region) *testcluster.Daemon {
	t.Helper()
	for i, port := range cluster.Ports().RegionServer {
		if r.Server == fmt.Sprintf("localhost:%d", port) {
			return cluster.Daemon(testcluster.RegionServer.Nth(i + 1))
		}
	}
	t.Fatalf("no region server of the cluster is %s", r.Server)
	return nil
}

// beside moves a table's one region to the server without hbase:meta, and gives the region.
func beside(t *testing.T, b *bench, table TableName) Region {
	t.Helper()
	at, err := b.registry.Meta(t.Context())
	testcheck.Must(t, err)
	meta := at.Meta
	regions, err := b.Regions(t.Context(), table)
	testcheck.Must(t, err)
	if regions[0].Server == meta {
		_, err := b.cluster.AdminT(t).Run(t.Context(), "move", table.String(), "a")
		testcheck.Must(t, err)
		regions, err = b.Regions(t.Context(), table)
		testcheck.Must(t, err)
	}
	if regions[0].Server == meta {
		t.Fatalf("the region did not leave %s", meta)
	}
	return regions[0]
}

// TestRegionGoesToAnotherServerWhileLoading moves a region, or freezes or kills its server, when the request to it is about to be sent. It checks
// that another server gets the region, and that the file is loaded once.
// Scenario 28 of docs/reliability.md.
func TestRegionGoesToAnotherServerWhileLoading(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Own(t, testcluster.Harmed())
	t.Run("region moved", func(t *testing.T) {
		w := &wire{}
		// The request is sent after the move, and must not be abandoned before.
		b := newBenchOn(t, cluster, func(c *Config) { c.Dialer, c.RootDir, c.StageQuiet = w.dial, "/hbase", 5*time.Minute })
		table := b.table(t)
		was := beside(t, b, table)
		moved := false
		w.before = func() error {
			if moved {
				return nil
			}
			moved = true
			_, err := cluster.AdminT(t).Run(t.Context(), "move", table.String(), "a")
			return err
		}
		var events []string
		rows := rowsOf("a", 20)
		report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{b.hfile(t, b.fs, b.dir, "f", rows)}, FS: b.fs, Events: recorder(&events)})
		testcheck.Must(t, err)
		if now := report.Regions[0].Region.Server; report.Regions[0].Attempts < 2 || now == was.Server || slices.Contains(events, "unknown") {
			t.Errorf("events %q, report %+v", events, report)
		}
		b.checkDigest(t, table, rows, "f")
		b.checkOnce(t, table, "f", 1)
	})
	t.Run("safe mode", func(t *testing.T) { testSafeMode(t, cluster) })
	t.Run("no master", func(t *testing.T) { testNoMaster(t, cluster) })
	t.Run("orphan", func(t *testing.T) { testOrphan(t, cluster) })
	t.Run("recovering", func(t *testing.T) { testRecovering(t, cluster) })
	for _, harm := range []string{"frozen", "killed"} {
		t.Run("server "+harm, func(t *testing.T) {
			w := &wire{}
			b := newBenchOn(t, cluster, func(c *Config) { c.Dialer, c.RootDir, c.StageQuiet = w.dial, "/hbase", 3*time.Second })
			table := b.table(t)
			server := daemonOf(t, cluster, beside(t, b, table))
			struck := false
			w.before = func() error {
				if struck {
					return nil
				}
				struck = true
				if harm == "killed" {
					w.swallow.Store(true)
					return server.Kill(context.WithoutCancel(t.Context()))
				}
				return server.Pause()
			}
			var events []string
			rows := rowsOf("a", 20)
			report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{b.hfile(t, b.fs, b.dir, "f", rows)}, FS: b.fs, Events: recorder(&events)})
			if harm == "frozen" {
				// A frozen server that resumes with the request must have no effect.
				testcheck.Must(t, server.Resume())
				testcheck.Eventually(t, time.Minute, "the end of a server that was given up", func() (bool, any) { return server.Pid() == 0, server.Pid() })
			}
			testcheck.Must(t, server.Restart(context.WithoutCancel(t.Context())))
			testcheck.Must(t, server.WaitReady(t.Context()))
			testcheck.Must(t, err)
			t.Logf("%q", events)
			if !slices.Contains(events, "fenced") || report.Loaded != 1 || !report.Cleaned {
				t.Errorf("report %+v", report)
			}
			b.checkDigest(t, table, rows, "f")
			b.checkOnce(t, table, "f", 1)
		})
	}
}

// testOrphan simulates a server that resumes after its regions were opened elsewhere, and then moves a file into a region's directory. The file is
// not visible until the region is opened again, which the load causes.
func testOrphan(t *testing.T, cluster *testcluster.Cluster) {
	w := &wire{}
	w.swallow.Store(true)
	b := newBenchOn(t, cluster, func(c *Config) { c.Dialer, c.RootDir = w.dial, "/hbase" })
	table := b.table(t)
	was := beside(t, b, table)
	super := b.fsAs(t, "hbase")
	orphans := 0
	rows := rowsOf("a", 20)
	rows = append(rows, rowsOf("b", 20)...)
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rows[:20]), b.hfile(t, b.fs, b.dir, "f", rows[20:])}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, Events: Events{
		OnFencing: func(f HFile, _ string) error {
			orphans++
			name := fmt.Sprintf("/hbase/data/%s/%s/%s/f/%032x_SeqId_7_", table.Namespace, table.Qualifier, was.Encoded, orphans)
			return super.Rename(t.Context(), fsPath(f.Path), name)
		},
	}})
	testcheck.Must(t, err)
	if report.Loaded != 2 || orphans != 2 || !report.Cleaned {
		t.Errorf("%d orphans, report %+v", orphans, report)
	}
	if now, err := b.Regions(t.Context(), table); err != nil || now[0].Server == was.Server {
		t.Errorf("the region is still on %s (%v)", was.Server, err)
	}
	b.checkDigest(t, table, rows, "f")
	b.checkOnce(t, table, "f", 2)
}

// TestOrphanStaysWithoutAnotherServer does the same without another region server, and checks that nothing counts as loaded and that the error names
// the remedy, also if the time limit ends the last query.
// Scenario 28 of docs/reliability.md.
func TestOrphanStaysWithoutAnotherServer(t *testing.T) {
	t.Parallel()
	t.Run("whole look", func(t *testing.T) { testOrphanStays(t, func(b *bench) FS { return b.fs }) })
	t.Run("last look cut short", func(t *testing.T) {
		testOrphanStays(t, func(b *bench) FS { return &hangingFS{FS: b.fs, store: "/hbase/data/loader_test/"} })
	})
}

// hangingFS lists the directory of a store once; further calls hang.
type hangingFS struct {
	FS
	store string
	asked atomic.Bool
}

func (h *hangingFS) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	if strings.HasPrefix(name, h.store) && strings.HasSuffix(name, "/f") && h.asked.Swap(true) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return h.FS.ReadDir(ctx, name)
}

func testOrphanStays(t *testing.T, files func(*bench) FS) {
	w := &wire{}
	w.swallow.Store(true)
	b := newBench(t, func(c *Config) { c.Dialer, c.RootDir, c.SettleTimeout = w.dial, "/hbase", 5*time.Second })
	table := b.table(t)
	regions, err := b.Regions(t.Context(), table)
	testcheck.Must(t, err)
	super := b.fsAs(t, "hbase")
	orphan := fmt.Sprintf("/hbase/data/%s/%s/%s/f/0123456789abcdef0123456789abcdef_SeqId_7_", table.Namespace, table.Qualifier, regions[0].Encoded)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: files(b), Events: Events{
		OnFencing: func(HFile, string) error { return super.Rename(t.Context(), fsPath(f.Path), orphan) },
	}})
	t.Log(err)
	if _, ok := errors.AsType[*UnknownOutcomeError](err); !ok || report.Loaded != 0 || !strings.Contains(err.Error(), orphan) ||
		!strings.Contains(err.Error(), "move '"+regions[0].Encoded+"'") {
		t.Errorf("%v, report %+v", err, report)
	}
	b.checkRows(t, table, nil)
}

// testRecovering kills all region servers. The master cannot end the recovery until there is another one.
func testRecovering(t *testing.T, cluster *testcluster.Cluster) {
	b := newBenchOn(t, cluster, func(*Config) {})
	recovering := func(want bool) func() (bool, any) {
		return func() (bool, any) {
			got, err := b.Recovering(t.Context())
			testcheck.Must(t, err)
			return got == want, got
		}
	}
	testcheck.Eventually(t, time.Minute, "no recovery", recovering(false))
	var servers []*testcluster.Daemon
	for i := range cluster.Ports().RegionServer {
		servers = append(servers, cluster.Daemon(testcluster.RegionServer.Nth(i+1)))
	}
	status, err := b.Status(t.Context())
	testcheck.Must(t, err)
	for _, name := range status.Started {
		if b.Gone(t.Context(), name) {
			t.Errorf("%s runs and is gone", name)
		}
	}
	for _, s := range servers {
		testcheck.Must(t, s.Kill(t.Context()))
	}
	for _, name := range status.Started { // the master still lists it
		if !b.Gone(t.Context(), name) {
			t.Errorf("%s is dead and not gone", name)
		}
	}
	testcheck.Eventually(t, time.Minute, "a recovery", recovering(true))
	for _, s := range servers {
		testcheck.Must(t, s.Restart(t.Context()))
	}
	testcheck.Eventually(t, 2*time.Minute, "the end of the recovery", recovering(false))
	for _, s := range servers {
		testcheck.Must(t, s.WaitReady(t.Context()))
	}
}

// leavesSafeMode is HDFS that leaves safe mode after it was asked once.
type leavesSafeMode struct {
	*hdfsio.HDFS
	leave func() error
	asked []bool
}

func (l *leavesSafeMode) SafeMode(ctx context.Context) (bool, error) {
	on, err := l.HDFS.SafeMode(ctx)
	if l.asked = append(l.asked, on); len(l.asked) == 1 && err == nil {
		err = l.leave()
	}
	return on, err
}

// testSafeMode has the NameNode in safe mode when the server is to move the file. It checks that the load waits for the end of safe mode, and sends the file again.
func testSafeMode(t *testing.T, cluster *testcluster.Cluster) {
	admin := func(action string) error {
		_, err := cluster.JavaClass(context.WithoutCancel(t.Context()), "-DHADOOP_USER_NAME=hbase", "org.apache.hadoop.hdfs.tools.DFSAdmin", "-safemode", action)
		return err
	}
	w := &wire{}
	b := newBenchOn(t, cluster, func(c *Config) { c.Dialer, c.RootDir, c.StageQuiet = w.dial, "/hbase", 5*time.Minute })
	table := b.table(t)
	entered := false
	w.before = func() error {
		if entered {
			return nil
		}
		entered = true
		return admin("enter")
	}
	defer admin("leave")
	fsys := &leavesSafeMode{HDFS: b.fs, leave: func() error { return admin("leave") }}
	var events []string
	rows := rowsOf("a", 20)
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{b.hfile(t, b.fs, b.dir, "f", rows)}, FS: fsys, Events: recorder(&events)})
	testcheck.Must(t, err)
	if report.Loaded != 1 || report.Regions[0].Attempts != 2 || !slices.Equal(fsys.asked, []bool{true, false}) {
		t.Errorf("asked %v, events %q, report %+v", fsys.asked, events, report)
	}
	b.checkDigest(t, table, rows, "f")
	b.checkOnce(t, table, "f", 1)
	// At the end of its time the load names safe mode as the reason.
	entered = false
	late := b.hfile(t, b.fs, b.dir, "f", rowsOf("b", 20))
	report, err = b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{late}, FS: b.fs, Deadline: time.Nanosecond, Events: Events{
		OnReturned: func(Region, []HFile, error) error { return admin("leave") },
	}})
	if _, ok := errors.AsType[*RegionError](err); !ok || !strings.Contains(err.Error(), "safe mode") || report.Loaded != 0 {
		t.Errorf("%v, report %+v", err, report)
	}
	b.checkDigest(t, table, rows, "f")
}

// testNoMaster calls the master while there is none, and checks that the call waits for it.
func testNoMaster(t *testing.T, cluster *testcluster.Cluster) {
	b := newBenchOn(t, cluster, nil)
	table := b.table(t)
	master := cluster.Daemon(testcluster.Master)
	testcheck.Must(t, master.Kill(t.Context()))
	testcheck.Eventually(t, time.Minute, "a cluster without a master", func() (bool, any) {
		at, err := b.registry.Master(t.Context())
		b.registry.Forget(at)
		return errors.Is(err, registry.ErrNoMaster), err
	})
	done := make(chan error, 1)
	go func() { done <- second(b.Describe(t.Context(), table)) }()
	testcheck.Must(t, master.Restart(t.Context()))
	testcheck.Must(t, <-done)
	testcheck.Must(t, master.WaitReady(t.Context()))
}
