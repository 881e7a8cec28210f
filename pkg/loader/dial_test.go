package loader

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestDialsAreShared checks that many calls at a server that cannot be reached share one dial and its failure, and then find the region at its
// present server, and that a caller waits no longer than its context, whose end does not end the dial for the others.
func TestDialsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		c := stubCluster(Config{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials.Add(1)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
		defer c.Close()
		c.regions.read = func(context.Context, TableName) ([]Region, error) { return onServers("good:1"), nil }
		c.regions.enabled = func(context.Context, TableName) error { return nil }
		c.regions.put(testTable, onServers("gone:1"))
		serveStub(c, "good:1", nothing)
		var calls sync.WaitGroup
		for i := range 64 {
			calls.Go(func() {
				ctx := t.Context()
				if i == 0 { // the one that dials
					short, cancel := context.WithCancel(ctx)
					defer cancel()
					time.AfterFunc(time.Second, cancel)
					ctx = short
				} else {
					<-time.After(time.Millisecond)
				}
				if _, err := c.get(ctx, testTable, []byte("x")); (err != nil) != (i == 0) || i == 0 && !errors.Is(err, context.Canceled) {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		calls.Wait()
		if dials.Load() != 1 {
			t.Errorf("%d dials, want 1", dials.Load())
		}
	})
}
