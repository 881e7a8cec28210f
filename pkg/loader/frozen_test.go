package loader

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testrpc"

	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
)

// answerAfter is a server that answers each call with an empty message, in two pieces: the first after a time, the second after as long again.
func answerAfter(delay func() time.Duration) func(nc net.Conn) {
	return func(nc net.Conn) {
		testrpc.Serve(nc, func(c *testrpc.Call) error {
			c.Pause = delay()
			<-time.After(c.Pause)
			return nil
		})
	}
}

// pipedCluster returns a cluster whose servers are a function. They may be silent for a second.
func pipedCluster(dials *atomic.Int32, serve func(nc net.Conn)) *Cluster {
	return stubCluster(Config{CallTimeout: time.Second, Dialer: testrpc.Pipes(dials, serve)})
}

// ask makes a call at the server.
func ask(ctx context.Context, c *Cluster) error {
	l, err := c.connect(ctx, "rs:1", region.RegionClient)
	if err != nil {
		return err
	}
	return l.invoke(ctx, "Get", &pb.GetRequest{Region: Region{Name: []byte("r")}.specifier(), Get: &pb.Get{Row: []byte("k")}}, &pb.GetResponse{})
}

// TestFrozenServerIsNoticed checks that a call at a server that does not answer ends by the server's silence, although more calls keep arriving.
func TestFrozenServerIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		c := pipedCluster(&dials, testrpc.Frozen)
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- ask(ctx, c) }()
		var others sync.WaitGroup
		for range 20 {
			<-time.After(300 * time.Millisecond)
			others.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				_ = ask(ctx, c)
			})
		}
		select {
		case err := <-ended:
			if ce, ok := errors.AsType[*ConnectionError](err); !ok || !ce.Sent || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the first call ended with %v", err)
			}
		default:
			t.Error("the first call still waits")
		}
		cancel()
		others.Wait()
	})
}

// TestSlowServerIsKept checks that a connection is not broken while the server sends something within its time: answers and parts of them, one
// after the other or with more calls arriving, after a time without calls, to a call that follows a quick answer, and to many calls at once.
func TestSlowServerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		var delay atomic.Int64
		c := pipedCluster(&dials, answerAfter(func() time.Duration { return time.Duration(delay.Load()) }))
		defer c.Close()
		delay.Store(int64(700 * time.Millisecond))
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if err := ask(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
			<-time.After(600 * time.Millisecond)
		}
		calls.Wait()
		for _, pause := range []time.Duration{0, 950 * time.Millisecond, 10 * time.Second} {
			delay.Store(0)
			testcheck.Must(t, ask(t.Context(), c))
			<-time.After(pause)
			delay.Store(int64(900 * time.Millisecond))
			testcheck.Must(t, ask(t.Context(), c))
		}
		delay.Store(int64(700 * time.Millisecond))
		for range 20 { // the network is slow: the last answer is in after 14 s
			calls.Go(func() {
				if err := ask(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
			<-time.After(10 * time.Millisecond)
		}
		calls.Wait()
		if dials.Load() != 1 {
			t.Errorf("%d connections, want 1", dials.Load())
		}
	})
}

// TestStuckCallIsNoticed checks that a call that is never answered ends, although the server answers later calls on the same connection, and that
// one that only waits long in the server is answered.
func TestStuckCallIsNoticed(t *testing.T) {
	for name, tt := range map[string]struct {
		first time.Duration // until half of the first call's answer
		stuck bool
	}{
		"for ever":              {24 * time.Hour, true},
		"in the server's queue": {900 * time.Millisecond, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var dials, calls atomic.Int32
			c := pipedCluster(&dials, answerAfter(func() time.Duration {
				if calls.Add(1) == 1 {
					return tt.first
				}
				return 0
			}))
			defer c.Close()
			ended := make(chan error, 1)
			go func() { ended <- ask(t.Context(), c) }()
			for range 20 {
				<-time.After(300 * time.Millisecond)
				testcheck.Must(t, ask(t.Context(), c))
			}
			select {
			case err := <-ended:
				ce, ok := errors.AsType[*ConnectionError](err)
				if stuck := ok && ce.Sent && errors.Is(err, os.ErrDeadlineExceeded); stuck != tt.stuck || !stuck && err != nil {
					t.Errorf("%s: the first call ended with %v", name, err)
				}
			default:
				t.Errorf("%s: the first call still waits", name)
			}
			c.Close()
			if want := map[bool]int32{false: 1, true: 2}[tt.stuck]; dials.Load() != want {
				t.Errorf("%s: %d connections, want %d", name, dials.Load(), want)
			}
			<-time.After(25 * time.Hour) // for the stub server
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
