package loader

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/hadoop/registry"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testrpc"
)

// TestFrozenMasterIsLeft checks that a call at a master that does not answer is repeated at the next one, also when ZooKeeper or the registry
// names the frozen one for longer than a call takes, and that a caller with less time leaves it with the next call.
func TestFrozenMasterIsLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		until, limit time.Duration // the registry names the frozen master until then; the caller's own limit
		calls        int
	}{
		"another is active":        {0, time.Hour, 1},
		"its session is open":      {110 * time.Second, time.Hour, 1},
		"callers have two seconds": {0, 2 * time.Second, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var dials, lookups atomic.Int32
			c := stubCluster(Config{Dialer: testrpc.Pipes(&dials, testrpc.Frozen)})
			defer c.Close()
			began := time.Now()
			stubRegistry(c, func() string {
				lookups.Add(1)
				if time.Since(began) < tt.until {
					return "old"
				}
				return "new"
			})
			serveStub(c, "new:1", nothing)
			c.registry.Know(registry.Places{Meta: "meta:1", Master: "old:1"})
			for call := 1; call <= tt.calls; call++ {
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				_, err := c.Status(ctx)
				if call == tt.calls {
					testcheck.Must(t, err)
				} else if err == nil || !late(ctx) {
					t.Errorf("%s: call %d ended with %v", name, call, err)
				}
				cancel()
			}
			if want := int32(1 + int(tt.until/time.Minute)); lookups.Load() != want || dials.Load() != want {
				t.Errorf("%s: %d lookups and %d connections to the frozen master, want %d", name, lookups.Load(), dials.Load(), want)
			}
		})
	}
}

// TestSilentRegionIsUnavailable checks that the question for a region's store files may be asked again if the server does not answer it in time.
func TestSilentRegionIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stubCluster(Config{})
		defer c.Close()
		serveStub(c, "a:1", func(*testrpc.Call) error { return testrpc.ErrSilent })
		began := time.Now()
		if _, err := c.StoreFiles(t.Context(), Region{Name: []byte("r"), Server: "a:1"}, "f"); !Unavailable(err) || time.Since(began) != c.cfg.CallTimeout {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
