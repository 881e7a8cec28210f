package loader

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/encoding/protowire"
)

// onPipes is a dialer whose servers are a function, one call a connection.
func onPipes(dials *atomic.Int32, serve func(nc net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			serve(there)
		}()
		return here, nil
	}
}

// frozen is a server that takes requests and never answers.
func frozen(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }

// answerAfter is a server that answers each call with an empty message, in two pieces: the first after a time, the second after as long again.
func answerAfter(delay func() time.Duration) func(nc net.Conn) {
	return func(nc net.Conn) {
		writing := make(chan struct{}, 1) // a mutex would stop the clock of synctest
		var answers sync.WaitGroup
		defer answers.Wait()
		if !readFull(nc, make([]byte, 6)) || readFrame(nc) == nil {
			return
		}
		for {
			header, n := protowire.ConsumeBytes(readFrame(nc))
			if n < 0 {
				return
			}
			id, _ := varintField(header, 1)
			answer, wait := answerFrame(frames.AppendNumber(nil, 1, id), protowire.AppendBytes(nil, nil)), delay()
			answers.Go(func() {
				<-time.After(wait)
				writing <- struct{}{}
				defer func() { <-writing }()
				if _, err := nc.Write(answer[:5]); err == nil {
					<-time.After(wait)
					_, _ = nc.Write(answer[5:])
				}
			})
		}
	}
}

// pipedCluster returns a cluster whose servers are a function. They may be silent for a second.
func pipedCluster(dials *atomic.Int32, serve func(nc net.Conn)) *Cluster {
	takeLogrus(slog.New(slog.DiscardHandler))
	return stubCluster(Config{CallTimeout: time.Second, Dialer: onPipes(dials, serve)})
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
		c := pipedCluster(&dials, frozen)
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
		serveStub(t, c, "a:1", adminService, func(hrpc.Call) error { return errSilent })
		began := time.Now()
		if _, err := c.StoreFiles(t.Context(), Region{Name: []byte("r"), Server: "a:1"}, "f"); !Unavailable(err) || time.Since(began) != c.cfg.CallTimeout {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
