package upload

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"

	"pgregory.net/rapid"
)

// countedWriter measures, by the bubble's clock, how far writes are ahead of the rate.
type countedWriter struct {
	hdfsio.Writer
	count *byteCount
}

type byteCount struct {
	mu    sync.Mutex
	start time.Time
	rate  float64
	n     int64
	ahead float64 // maximum number of bytes beyond rate × time
	most  int     // in one write
}

func (w *countedWriter) Write(p []byte) (int, error) {
	c := w.count
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += int64(len(p))
	c.most = max(c.most, len(p))
	c.ahead = max(c.ahead, float64(c.n)-c.rate*time.Since(c.start).Seconds())
	return w.Writer.Write(p)
}

// TestUploadRate writes files of several streams through one limiter. At any
// time at most the rate and a burst have passed, and everything passes in the
// expected time.
func TestUploadRate(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		kib := rapid.IntRange(64, 1<<20).Draw(rt, "KiB/s")
		sizes := rapid.SliceOfN(rapid.IntRange(0, 2<<20), 1, 4).Draw(rt, "files")
		synctest.Test(t, func(t *testing.T) {
			u := NewLimiter(Options{Rate: Rate(kib << 10)})
			fsys := hdfsio.NewMemory()
			count := &byteCount{start: time.Now(), rate: float64(kib << 10)}
			var total int64
			var writes sync.WaitGroup
			for i, size := range sizes {
				total += int64(size)
				w, err := fsys.Create(t.Context(), "/"+string(rune('a'+i)), hdfsio.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				limited := u.Writer(t.Context(), &countedWriter{w, count})
				writes.Go(func() {
					if n, err := limited.Write(make([]byte, size)); n != size || err != nil {
						t.Errorf("%d of %d bytes, %v", n, size, err)
					}
					if err := limited.Finish(); err != nil {
						t.Error(err)
					}
				})
			}
			writes.Wait()
			if count.n != total || count.most > uploadPiece {
				t.Errorf("%d of %d bytes passed, up to %d at a time", count.n, total, count.most)
			}
			burst := float64(u.rate.Burst())
			if count.ahead > burst+1 {
				t.Errorf("%.0f bytes were ahead of the rate, the burst is %.0f", count.ahead, burst)
			}
			should := max(float64(total)-burst, 0) / count.rate
			if took := time.Since(count.start).Seconds(); took > should*1.001+0.001 {
				t.Errorf("%d bytes took %.3f s of the clock, at %d KiB/s they should take %.3f", total, took, kib, should)
			}
		})
	})
}

// TestUploadStreams counts the regions that are written concurrently.
func TestUploadStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			o    Options
			most int64
		}{
			{Options{Streams: 3}, 3},
			{Options{Rate: MinRate}, slowestStream},
			{Options{Rate: MinRate, Streams: 2}, 2},
			{Options{Rate: 1 << 30, Streams: 100}, 100},
		} {
			u := NewLimiter(c.o)
			var now, most atomic.Int64
			var all sync.WaitGroup
			for range 200 {
				all.Go(func() {
					if err := u.Enter(t.Context()); err != nil {
						t.Error(err)
					}
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					<-time.After(time.Second)
					now.Add(-1)
					u.Leave()
				})
			}
			all.Wait()
			if most.Load() != c.most {
				t.Errorf("%+v: %d at a time, want %d", c.o, most.Load(), c.most)
			}
		}
	})
}

// TestUploadStops checks that both kinds of waiting end with the cause of the stop.
func TestUploadStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := NewLimiter(Options{Rate: MinRate, Streams: 1})
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("stopped")
		if err := u.Enter(ctx); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		var all sync.WaitGroup
		all.Go(func() {
			if err := u.Enter(ctx); err != cause {
				t.Errorf("enter: %v", err)
			}
		})
		all.Go(func() {
			w, err := hdfsio.NewMemory().Create(ctx, "/a", hdfsio.CreateOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			if n, err := u.Writer(ctx, w).Write(make([]byte, 8<<20)); !errors.Is(err, cause) || n == 0 || n == 8<<20 {
				t.Errorf("write: %d bytes, %v", n, err)
			}
		})
		all.Wait()
	})
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{"50MiB": 50 << 20, "50MiB/s": 50 << 20, " 1g/s ": 1 << 30, "0": 0, "64k": MinRate, "63k": -1, "fast": -1, "": -1, "50MiB/m": -1} {
		var r Rate
		if err := r.Set(text); want < 0 && err == nil || want >= 0 && (err != nil || r != want) {
			t.Errorf("%q is %v, %v", text, r, err)
		}
	}
}
