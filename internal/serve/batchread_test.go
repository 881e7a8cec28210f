package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// TestStagesOfABatch checks that no stage has less than no time where the rows of several keys, which are read at a time, take longer to encode than all of it.
func TestStagesOfABatch(t *testing.T) {
	s := checks(t, Options{}, 1)
	s.metrics.request(&noted{route: "batch", read: time.Millisecond, encode: 3 * time.Millisecond}, 200, time.Millisecond)
	if r := s.get("/metrics"); !strings.Contains(r.body, `bulkload_serve_stage_seconds_sum{route="batch",stage="hbase"} 0`+"\n") {
		t.Error("HBase has not 0 seconds")
	}
}

// batchOf returns a batch with the keys A, B, C repeatedly, and some that do not exist.
func batchOf(n int) string {
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf(`{"check_id":%q}`, []string{"A", "B", "C", "none"}[i%4]))
	}
	return `{"keys":[` + strings.Join(keys, ",") + `]}`
}

// TestBatchInParallel checks that keys are read concurrently, each in its own place, and returned in order.
func TestBatchInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := checks(t, Options{Limits: Limits{BatchReads: 4, InFlight: 6, PerClient: 6}}, 2)
		var now, most atomic.Int32
		s.fake.onScan = func(context.Context) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-time.After(10 * time.Millisecond)
			now.Add(-1)
		}
		began := time.Now()
		r := s.post("/v1/check/rows:batch", batchOf(20))
		took := time.Since(began)
		var out struct {
			Results []struct{ Rows []map[string]any }
		}
		if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != 200 || len(out.Results) != 20 {
			t.Fatalf("%v %d %s", err, r.status, r.body)
		}
		for i, result := range out.Results {
			key := []string{"A", "B", "C", "none"}[i%4]
			if key == "none" != (len(result.Rows) == 0) || key != "none" && (len(result.Rows) != 2 || result.Rows[0]["check_id"] != key) {
				t.Errorf("result %d of %s: %v", i, key, result.Rows)
			}
		}
		if most.Load() != 4 || took != 50*time.Millisecond {
			t.Errorf("%d at a time, in %s", most.Load(), took)
		}
		if in, _ := s.gate.load(); in != 0 {
			t.Errorf("%d places are taken", in)
		}
		if free := s.answers.memory.free.Load(); free != s.limits.answers() {
			t.Errorf("%d bytes are missing", s.limits.answers()-free)
		}
		// if other requests have the places, keys are read in sequence
		most.Store(0)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { s.get("/v1/check/rows?check_id=A") })
		}
		synctest.Wait()
		s.fake.onScan = func(context.Context) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			now.Add(-1)
		}
		if r := s.post("/v1/check/rows:batch", batchOf(8)); r.status != 200 {
			t.Error(r.body)
		}
		if most.Load() != 6 {
			t.Errorf("%d at a time in addition to five others", most.Load()-5)
		}
		wg.Wait()
	})
}

// TestBatchIsAsInTurn checks that reading keys in parallel gives the same answer as reading them in sequence, also when
// the answer is full or memory is short.
func TestBatchIsAsInTurn(t *testing.T) {
	for bytes := int64(2 << 10); bytes < 40<<10; bytes += 1777 {
		var first string
		for _, reads := range []int{1, 8} {
			s := checks(t, Options{Limits: Limits{Bytes: bytes, BatchReads: reads}}, 40)
			r := s.post("/v1/check/rows:batch", batchOf(12))
			if r.status != 200 || int64(len(r.body)) > bytes+12*300 {
				t.Fatalf("%d bytes, %d reads: %d, %d bytes", bytes, reads, r.status, len(r.body))
			}
			if first == "" {
				first = r.body
			} else if r.body != first {
				t.Errorf("%d bytes: in turn\n%s\nin parallel\n%s", bytes, first, r.body)
			}
			if free := s.answers.memory.free.Load(); free != s.limits.answers() {
				t.Errorf("%d bytes are missing", s.limits.answers()-free)
			}
		}
	}
}

// TestBatchEndsWithItsDeadline checks that all readings of a batch end, and that everything is released.
func TestBatchEndsWithItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := checks(t, Options{}, 2)
		s.fake.onScan = func(ctx context.Context) { <-ctx.Done() }
		began := time.Now()
		s.post("/v1/check/rows:batch", batchOf(20)).refuses(t, "a batch that takes too long", timedOut)
		if time.Since(began) != s.limits.Deadline {
			t.Errorf("it took %s", time.Since(began))
		}
		synctest.Wait()
		if in, _ := s.gate.load(); in != 0 || s.answers.memory.free.Load() != s.limits.answers() {
			t.Errorf("%d places, %d bytes are missing", in, s.limits.answers()-s.answers.memory.free.Load())
		}
	})
}
