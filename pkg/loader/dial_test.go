package loader

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsuna/gohbase/region"

	"bulkload/internal/test/testrpc"
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

// TestCloseEndsDials checks that closing the cluster ends a dial in progress, and closes a connection that a dial still makes.
func TestCloseEndsDials(t *testing.T) {
	for _, obeys := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			defer there.Close()
			dialing := make(chan struct{})
			c := stubCluster(Config{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				close(dialing)
				<-ctx.Done()
				if obeys {
					return nil, context.Cause(ctx)
				}
				return here, nil
			}})
			go testrpc.Frozen(there)
			ended := make(chan error, 1)
			go func() {
				_, err := c.connect(t.Context(), "rs:1", region.RegionClient)
				ended <- err
			}()
			<-dialing
			c.Close()
			if err := <-ended; !errors.Is(err, ErrClosed) {
				t.Errorf("the dial obeys %t: the caller got %v", obeys, err)
			}
			if obeys {
				return
			}
			if _, err := here.Write(nil); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the connection is open after the end of the dial: %v", err)
			}
		})
	}
}
