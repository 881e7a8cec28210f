package hbaserpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testrpc"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
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

// pipedClient returns a client whose servers are a function. They may be silent for a second.
func pipedClient(dialer func(context.Context, string, string) (net.Conn, error)) *Client {
	TakeLog(slog.New(slog.DiscardHandler))
	return NewClient(Options{User: "x", Dialer: dialer, DialTimeout: 20 * time.Second, CallTimeout: time.Second})
}

// ask makes a call at the server.
func ask(ctx context.Context, c *Client) error {
	l, err := c.Connect(ctx, "rs:1", ClientService)
	if err != nil {
		return err
	}
	return l.Invoke(ctx, "Get", &pb.GetRequest{Region: &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: []byte("r")}, Get: &pb.Get{Row: []byte("k")}}, &pb.GetResponse{})
}

// TestFrozenServerIsNoticed checks that a call at a server that does not answer ends by the server's silence, although more calls keep arriving.
func TestFrozenServerIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		c := pipedClient(testrpc.Pipes(&dials, testrpc.Frozen))
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
		c := pipedClient(testrpc.Pipes(&dials, answerAfter(func() time.Duration { return time.Duration(delay.Load()) })))
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
			c := pipedClient(testrpc.Pipes(&dials, answerAfter(func() time.Duration {
				if calls.Add(1) == 1 {
					return tt.first
				}
				return 0
			})))
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

// TestCloseEndsDials checks that closing the client ends a dial in progress, and closes a connection that a dial still makes.
func TestCloseEndsDials(t *testing.T) {
	for _, obeys := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			defer there.Close()
			dialing := make(chan struct{})
			c := pipedClient(func(ctx context.Context, _, _ string) (net.Conn, error) {
				close(dialing)
				<-ctx.Done()
				if obeys {
					return nil, context.Cause(ctx)
				}
				return here, nil
			})
			go testrpc.Frozen(there)
			ended := make(chan error, 1)
			go func() {
				_, err := c.Connect(t.Context(), "rs:1", ClientService)
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

// forgetful is a client of gohbase that never answers.
type forgetful struct{ hrpc.RegionClient }

func (forgetful) QueueRPC(hrpc.Call) {}
func (forgetful) Addr() string       { return "rs:1" }

// TestWaitBroken checks that a call without an answer ends when its connection breaks.
func TestWaitBroken(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	l := &Connection{client: forgetful{}, tap: newTap(here, time.Second, time.Minute)}
	l.tap.written.Store(1)
	ended := make(chan error, 1)
	go func() { ended <- l.Invoke(t.Context(), "Scan", &pb.ScanRequest{}, &pb.ScanResponse{}) }()
	l.tap.note(syscall.ECONNRESET)
	l.tap.note(syscall.EPIPE) // the first error counts
	select {
	case err := <-ended:
		if ce, ok := errors.AsType[*ConnectionError](err); !ok || !ce.Sent || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("error %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the call still waits")
	}
}
