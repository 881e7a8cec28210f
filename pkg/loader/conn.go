package loader

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/region"
	"golang.org/x/sync/singleflight"

	"bulkload/internal/hadoop/frames"
)

// serverKey identifies a connection: HBase fixes the service when a connection is made.
type serverKey struct {
	addr    string
	service region.ClientType
}

// server holds the connection to one server that ordinary calls share.
type server struct {
	dials singleflight.Group // of one key

	mu     sync.Mutex
	link   *link
	closed bool
	end    context.CancelCauseFunc // of a dial in progress, else nil
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.end != nil {
		s.end(ErrClosed)
	}
	if s.link != nil {
		s.link.close()
	}
}

// open returns the connection, nil if there is none or it broke.
func (s *server) open() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.link != nil && s.link.tap.failure() != nil {
		s.link.close()
		s.link = nil
	}
	return s.link, nil
}

// redial makes a connection if there is none. It is called once at a time.
func (s *server) redial(ctx context.Context, dial func(context.Context) (*link, error)) (*link, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if l, err := s.open(); l != nil || err != nil { // another dial ended meanwhile
		return l, err
	}
	s.mu.Lock()
	if s.end = end; s.closed {
		end(ErrClosed)
	}
	s.mu.Unlock()
	l, err := dial(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = nil
	if err == nil && s.closed {
		l.close()
		return nil, ErrClosed
	}
	s.link = l
	return l, err
}

// connect returns the shared connection to a server, a new one if there is none or it broke. Concurrent callers share one dial and its
// failure; it continues when the context of one of them ends.
func (c *Cluster) connect(ctx context.Context, addr string, service region.ClientType) (*link, error) {
	key := serverKey{addr, service}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	s := c.servers[key]
	if s == nil {
		s = &server{}
		c.servers[key] = s
	}
	c.mu.Unlock()
	if l, err := s.open(); l != nil || err != nil {
		return l, err
	}
	dialed := s.dials.DoChan("", func() (any, error) {
		return s.redial(context.WithoutCancel(ctx), func(ctx context.Context) (*link, error) {
			return c.dial(ctx, addr, service, c.cfg.CallTimeout)
		})
	})
	select {
	case r := <-dialed:
		l, _ := r.Val.(*link)
		return l, r.Err
	case <-ctx.Done():
		return nil, &ConnectionError{Addr: addr, Err: context.Cause(ctx)}
	}
}

// link is one connection.
type link struct {
	client hrpc.RegionClient
	tap    *tap
	hello  int64 // bytes written by the time it was ready

	mu     sync.Mutex
	latest time.Time // when the latest call began that was answered
}

// dial makes a connection. readTimeout is how long the server may be silent while an answer is due.
func (c *Cluster) dial(ctx context.Context, addr string, service region.ClientType, readTimeout time.Duration) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.DialTimeout, silence("no connection within "+c.cfg.DialTimeout.String()))
	defer cancel()
	nc, err := c.cfg.Dialer(ctx, "tcp", addr)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, &ConnectionError{Addr: addr, Err: err}
	}
	if c.cfg.Secure != nil {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, errors.Join(err, nc.Close())
		}
		if nc, err = c.cfg.Secure(ctx, nc, host, service == region.MasterClient || service == clientMeta && c.cfg.RegistryMasters); err != nil {
			return nil, &ConnectionError{Addr: addr, Err: err}
		}
	}
	t := newTap(nc, c.cfg.CallTimeout, readTimeout)
	// A queue of one and no flush interval: our calls are not batched.
	client := region.NewClient(addr, service, 1, 0, c.cfg.EffectiveUser, readTimeout, nil,
		func(context.Context, string, string) (net.Conn, error) { return t, nil })
	if err := client.Dial(ctx); err != nil {
		nc.Close()
		if cause := t.failure(); cause != nil {
			err = cause
		}
		return nil, &ConnectionError{Addr: addr, Err: err}
	}
	return &link{client: client, tap: t, hello: t.written.Load()}, nil
}

func (l *link) close() { l.client.Close() }

// explain turns gohbase's errors into ours. gohbase reports a broken connection without the reason, which the tap has recorded.
func (l *link) explain(err error) error {
	if err == nil {
		return nil
	}
	if re, ok := parseRemote(err); ok {
		return re
	}
	cause := l.tap.failure()
	if _, ok := errors.AsType[region.ServerError](err); ok || cause != nil {
		if cause != nil {
			err = cause
		}
		return &ConnectionError{Addr: l.client.Addr(), Sent: l.tap.written.Load() > l.hello, Err: err}
	}
	return fmt.Errorf("%s: %w", l.client.Addr(), err)
}

// tap is a connection that records its first error and the number of bytes written, bounds each write and the silence of the server, and
// checks answers before gohbase reads them.
type tap struct {
	net.Conn
	writeTimeout time.Duration
	silence      time.Duration  // how long the server may be silent while an answer is due
	frames       *frames.Filter // of what is read
	written      atomic.Int64
	broken       chan struct{} // closed at the first failure

	mu  sync.Mutex
	due int // answers
	err error
}

func newTap(nc net.Conn, writeTimeout, silence time.Duration) *tap {
	return &tap{Conn: nc, writeTimeout: writeTimeout, silence: silence, frames: newAnswerFilter(), broken: make(chan struct{})}
}

// SetReadDeadline does nothing. gohbase sets a later deadline with each call, so that a server that is frozen would not be noticed while
// calls keep arriving, and it may set one after the answer, which a later call would meet. The tap counts requests and answers itself.
func (t *tap) SetReadDeadline(time.Time) error { return nil }

// sending notes a request. It does not prolong the wait for earlier answers.
func (t *tap) sending() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.due++; t.due > 1 {
		return nil
	}
	return t.Conn.SetReadDeadline(time.Now().Add(t.silence))
}

// received notes bytes from the server, with the ends of n answers. From here on it may be silent again.
func (t *tap) received(n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	until := time.Time{}
	if t.due = max(0, t.due-n); t.due > 0 {
		until = time.Now().Add(t.silence)
	}
	return t.Conn.SetReadDeadline(until)
}

// Read hides an error of the deadline, which a connection has that was closed meanwhile: gohbase gets the answer that was read. The next read
// meets the same error.
func (t *tap) Read(p []byte) (int, error) {
	before := t.frames.Whole
	n, err := t.Conn.Read(p)
	if e := t.frames.Pass(p[:n]); e != nil {
		return 0, t.note(e)
	}
	if n > 0 {
		_ = t.note(t.received(t.frames.Whole - before))
	}
	return n, t.note(err)
}

// Write sends the header of the connection, which has no answer, and then a request at a time.
func (t *tap) Write(p []byte) (int, error) {
	if t.written.Load() > 0 {
		if err := t.sending(); err != nil {
			return 0, t.note(err)
		}
	}
	if err := t.Conn.SetWriteDeadline(time.Now().Add(t.writeTimeout)); err != nil {
		return 0, t.note(err)
	}
	n, err := t.Conn.Write(p)
	t.written.Add(int64(n))
	return n, t.note(err)
}

// Close marks the connection unusable, also when gohbase closes it for reasons of its own.
func (t *tap) Close() error {
	t.note(net.ErrClosed)
	return t.Conn.Close()
}

func (t *tap) note(err error) error {
	if err != nil {
		t.mu.Lock()
		if t.err == nil {
			t.err = err
			close(t.broken)
		}
		t.mu.Unlock()
	}
	return err
}

func (t *tap) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
