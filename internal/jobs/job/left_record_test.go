package job

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
)

// recordEnv names the directory of big exports (check.csv, check.dump, check.parquet, opinion.dump, opinion.csv, and check5m.dump of 5 M rows, as
// made by the benchmarks) from which TestRecordTraces makes the traces again.
const recordEnv = "BULKLOAD_RECORD_TRACES"

// traceEvery is the interval between two lines of a trace.
const traceEvery = 250 * time.Millisecond

// TestRecordTraces records the progress of real jobs on the test cluster, for the test of the time left.
func TestRecordTraces(t *testing.T) {
	dir := os.Getenv(recordEnv)
	if dir == "" {
		t.Skip("records traces only when " + recordEnv + " names a directory of exports")
	}
	cluster := testcluster.Shared(t)
	for _, c := range []struct {
		name, job, file, verify string
		salts                   int
		memory                  spec.Size
		workers                 int
		limit                   int64 // bytes a second to HDFS
	}{
		{"check-dump-full", "check", "check.dump", "full", 10, 0, 0, 0},
		{"check-dump-sample", "check", "check.dump", "sample", 10, 0, 0, 0},
		{"check-dump-off-spill", "check", "check.dump", "off", 10, 64 << 20, 0, 0},
		{"check-dump-full-spill", "check", "check.dump", "full", 50, 64 << 20, 0, 0},
		{"check-dump-one-worker", "check", "check.dump", "full", 10, 0, 1, 0},
		{"check-csv-full", "check", "check.csv", "full", 10, 0, 0, 0},
		{"check-csv-sample-spill", "check", "check.csv", "sample", 10, 64 << 20, 0, 0},
		{"check-parquet-full", "check", "check.parquet", "full", 10, 0, 0, 0},
		{"check-parquet-sample", "check", "check.parquet", "sample", 10, 0, 0, 0},
		{"opinion-dump-full", "opinion", "opinion.dump", "full", 50, 0, 0, 0},
		{"opinion-dump-sample-spill", "opinion", "opinion.dump", "sample", 50, 64 << 20, 0, 0},
		{"opinion-csv-full", "opinion", "opinion.csv", "full", 20, 0, 0, 0},
		{"check5m-dump-full", "check", "check5m.dump", "full", 10, 0, 0, 0},
		{"check5m-dump-sample-spill", "check", "check5m.dump", "sample", 10, 64 << 20, 0, 0},
		{"check-dump-sample-slow", "check", "check.dump", "sample", 10, 0, 0, 12 << 20},
		{"check-dump-full-slow", "check", "check.dump", "full", 10, 0, 0, 24 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := jobtest.ClusterEnv(t, cluster)
			s := jobtest.Spec(t, c.job)
			s.Table, s.Verify, s.Inputs = jobtest.FreshTable(t, env, c.salts, nil), c.verify, []string{filepath.Join(dir, c.file)}
			var tracker progress.Tracker
			events := tracker.Events()
			if c.limit > 0 {
				var pace slowly
				written := events.OnWritten
				events.OnWritten = func(n int64) { written(n); pace.wait(n, c.limit) }
			}
			out, err := os.Create(filepath.Join("testdata", "traces", c.name+".jsonl.gz"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			packed, _ := gzip.NewWriterLevel(out, gzip.BestCompression)
			defer packed.Close()
			w := json.NewEncoder(packed)
			record := func() {
				p := tracker.Progress()
				p.Start.Inputs, p.Start.Staging, p.Start.Table = nil, strings.Repeat("x", min(1, len(p.Start.Staging))), c.job
				if !p.Began.IsZero() {
					if err := w.Encode(p); err != nil {
						t.Error(err)
					}
				}
			}
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				ticks := time.NewTicker(traceEvery)
				defer ticks.Stop()
				for {
					select {
					case <-ticks.C:
						record()
					case <-stop:
						return
					}
				}
			}()
			_, err = Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{WorkOptions: build.WorkOptions{Workers: c.workers, Memory: c.memory, SpillDir: t.TempDir(), Events: events}})
			tracker.End()
			close(stop)
			<-stopped
			record()
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// slowly limits the total rate of writers, in bytes per second.
type slowly struct {
	mu   sync.Mutex
	next time.Time
}

func (s *slowly) wait(n, perSecond int64) {
	s.mu.Lock()
	now := time.Now()
	if s.next.Before(now) {
		s.next = now
	}
	s.next = s.next.Add(time.Duration(float64(n) / float64(perSecond) * float64(time.Second)))
	due := time.NewTimer(time.Until(s.next)) // simulates the speed of a slow disk; it does not wait for a condition
	s.mu.Unlock()
	<-due.C
}
