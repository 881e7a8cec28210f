package job

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestFewStreams loads 32 regions by eight workers onto two DataNodes, for files that are to have three replicas. If each serves six streams,
// including HBase's own, refused files are written again. If one of the two dies for good, while files are written or while they are loaded, the
// other one has all. HBase's client sees the rows of an undisturbed run by one worker each time.
func TestFewStreams(t *testing.T) {
	t.Parallel()
	if os.Getenv("BULKLOAD_FAULTS") == "" {
		t.Skip("belongs to the whole suite: make test-faults")
	}
	const rows, regions = 150_000, 32
	var splits [][]byte
	for i := 1; i < regions; i++ {
		splits = append(splits, fmt.Appendf(nil, "k%07d", i*rows/regions))
	}
	s := jobtest.CSVSpec(jobtest.WideInput(t, rows))
	s.Family, s.Verify = "f", "full"
	want := ""
	for _, x := range []struct {
		name, threads string
		workers       int
		dies          func(kill func()) progress.Events
	}{
		{"one worker", "6", 1, nil},
		{"eight workers", "6", 8, nil},
		{"a DataNode dies while files are written", "4096", 8, func(kill func()) progress.Events { return progress.Events{OnHFile: func(progress.HFile) { kill() }} }},
		{"a DataNode dies while files are loaded", "4096", 8, func(kill func()) progress.Events { return progress.Events{OnLoad: func(string, int) { kill() }} }},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := testcluster.Own(t, testcluster.Options{DataNodes: 2, HDFSSite: map[string]string{
				"dfs.datanode.max.transfer.threads": x.threads, "dfs.replication": "3",
				// Otherwise HBase itself writes no WAL with one DataNode.
				"dfs.client.block.write.replace-datanode-on-failure.best-effort": "true",
				// A dead DataNode is still chosen for new blocks, by default for ten minutes.
				"dfs.heartbeat.interval": "3", "dfs.namenode.heartbeat.recheck-interval": "300000",
			}})
			env, second := jobtest.ClusterEnv(t, c), c.Daemon(testcluster.DataNode.Nth(2))
			s := s
			s.Table = jobtest.FreshTableAt(t, env, splits, nil)
			var events progress.Events
			if x.dies != nil {
				var once sync.Once
				events = x.dies(func() {
					once.Do(func() {
						if err := second.Kill(t.Context()); err != nil {
							t.Error(err)
						}
					})
				})
				t.Cleanup(func() { testcheck.Must(t, second.Restart(context.WithoutCancel(t.Context()))) })
			}
			var again atomic.Int64
			events.OnNote = func(text string, _ ...any) {
				if text == "a file was not written and is written again" {
					again.Add(1)
				}
			}
			began := time.Now()
			_, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{WorkOptions: build.WorkOptions{Events: events, Workers: x.workers}, State: checkpoint.Options{Dir: t.TempDir()}})
			testcheck.Must(t, err)
			t.Logf("%d files were written again, %s", again.Load(), time.Since(began).Round(time.Second))
			got, err := c.AdminT(t).Digest(t.Context(), s.Table)
			testcheck.Must(t, err)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("the table has %s, want %s", got, want)
			}
		})
	}
}
