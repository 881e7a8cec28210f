package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"sync"
	"time"

	"bulkload/internal/base/retry"

	"github.com/colinmarc/hdfs/v2"
)

// session is a NameNode connection in the hands of one user, with the DataNode connections made through it. One user, as
// the client library keeps unguarded state in its Client, and so that a cancelled context can cut exactly the
// connections of its own operation.
type session struct {
	h       *HDFS
	client  *hdfs.Client
	dialer  net.Dialer
	timeout time.Duration

	mu    sync.Mutex
	ctx   context.Context // of the present user
	conns map[*conn]struct{}
	dnErr error  // the first failure of a DataNode connection for the present user
	dead  error  // set when the session was cut
	nn    string // the NameNode that was dialled last
	nnErr error  // why it could not be

	blocks    blockWatch // on the way to the NameNode
	completes completeWatch
	opens     openWatch
	sums      sumWatch // on the way to DataNodes
	defaults  defaultsWatch
}

// acquire takes an idle session or makes one. The context is its life until release.
func (h *HDFS) acquire(ctx context.Context) (*session, func() bool, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, nil, fs.ErrClosed
	}
	var s *session
	if n := len(h.free); n > 0 {
		s, h.free = h.free[n-1], h.free[:n-1]
	}
	first := h.first
	h.mu.Unlock()

	fresh := s == nil
	if fresh {
		s = &session{
			h:       h,
			dialer:  net.Dialer{Timeout: h.o.DialTimeout, KeepAlive: 30 * time.Second},
			timeout: h.o.IOTimeout,
			conns:   map[*conn]struct{}{},
			blocks:  blockWatch{avoid: h.avoided},
		}
	}
	s.mu.Lock()
	s.ctx, s.dnErr = ctx, nil
	s.mu.Unlock()
	s.blocks.forget()
	s.completes.forget()
	stop := context.AfterFunc(ctx, func() { s.cut(context.Cause(ctx)) })
	if !fresh {
		return s, stop, nil
	}
	addresses := append(slices.Clone(h.o.Addresses[first:]), h.o.Addresses[:first]...)
	client, err := hdfs.NewClient(hdfs.ClientOptions{
		Addresses:           addresses,
		User:                h.o.User,
		UseDatanodeHostname: h.o.UseDatanodeHostname,
		NamenodeDialFunc:    s.dialNameNode,
		DatanodeDialFunc:    s.dialDataNode,
	})
	if err != nil {
		if _, cause := s.nameNode(); cause != nil {
			err = fmt.Errorf("namenode: %w", cause) // the library has only its text
		}
		stop()
		s.cut(err)
		h.mu.Lock()
		h.first = (first + 1) % len(h.o.Addresses)
		h.mu.Unlock()
		return nil, nil, err
	}
	s.client = client
	return s, stop, nil
}

// prefer has the next session begin with the NameNode that answered, or after
// the one that did not: one that is frozen or cut off takes connections, or the
// time of a connect, before it gives none.
func (h *HDFS) prefer(s *session, answered bool) {
	address, _ := s.nameNode()
	i := slices.Index(h.o.Addresses, address)
	if i < 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case answered:
		h.first = i
	case h.first == i:
		h.first = (i + 1) % len(h.o.Addresses)
	}
}

// release gives a session back. One that is not sound is closed.
func (h *HDFS) release(s *session, stop func() bool, sound bool) {
	stopped := stop()
	if stopped && len(h.o.Addresses) > 1 && s.dataNodeError() == nil {
		h.prefer(s, sound)
	}
	sound = stopped && sound && s.sound()
	s.dropDataNodes()
	if sound {
		s.mu.Lock()
		s.ctx = nil
		s.mu.Unlock()
		h.mu.Lock()
		if !h.closed && len(h.free) < h.o.MaxIdle {
			h.free = append(h.free, s)
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
	s.close()
}

// once makes one call on one session.
func (h *HDFS) once(ctx context.Context, call func(*hdfs.Client) error) error {
	return h.onSession(ctx, func(s *session) error { return call(s.client) })
}

func (h *HDFS) onSession(ctx context.Context, call func(*session) error) error {
	s, stop, err := h.acquire(ctx)
	if err != nil {
		return err
	}
	err = call(s)
	h.release(s, stop, answered(err))
	return err
}

// retry makes a call that may be repeated, until it is answered or RetryTimeout has passed. Each attempt after a broken
// connection has a new client: the library keeps a dead socket after a failed read, and after a failed write refuses the
// NameNode for 5 s.
func (h *HDFS) retry(ctx context.Context, op, name string, call func(*hdfs.Client) error) error {
	return h.retrySession(ctx, op, name, func(s *session) error { return call(s.client) })
}

func (h *HDFS) retrySession(ctx context.Context, op, name string, call func(*session) error) error {
	started := time.Now()
	for attempt := 0; ; attempt++ {
		err := h.onSession(ctx, call)
		if !transient(err) {
			return h.denied(ctx, op, pathError(op, name, err), name)
		}
		if err := h.pause(ctx, started, attempt, op, name, err); err != nil {
			return err
		}
	}
}

// pause waits before the next attempt. It returns the error to give up with when the context or the time has ended.
func (h *HDFS) pause(ctx context.Context, started time.Time, attempt int, op, name string, err error) error {
	if errors.Is(err, fs.ErrClosed) && h.isClosed() {
		return pathError(op, name, fs.ErrClosed)
	}
	if ctx.Err() != nil {
		return &fs.PathError{Op: op, Path: name, Err: context.Cause(ctx)}
	}
	if attempt == 0 {
		if err := h.wantsLogin(ctx); err != nil {
			return pathError(op, name, err)
		}
	}
	unmet := h.unmet(err)
	within := h.o.RetryTimeout
	if unmet != nil {
		within = min(within, firstAnswer)
	}
	wait, again := retry.Policy{First: 250 * time.Millisecond, Most: 10 * time.Second, Jitter: true, For: within}.Next(started, attempt+1)
	if !again && unmet != nil {
		return pathError(op, name, unmet)
	}
	if !again {
		return pathError(op, name, fmt.Errorf("no answer for %s in %d attempts: %w",
			time.Since(started).Round(time.Millisecond), attempt+1, err))
	}
	h.o.Log.Warn("retrying HDFS RPC", "op", op, "path", name, "try", attempt+1, "wait", wait, "error", err)
	if err := retry.Sleep(ctx, wait); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

func (h *HDFS) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// cut breaks every connection; calls in progress return with an error.
func (s *session) cut(err error) {
	s.mu.Lock()
	if s.dead == nil {
		s.dead = err
	}
	conns := s.conns
	s.conns = map[*conn]struct{}{}
	s.mu.Unlock()
	for c := range conns {
		c.fail(err)
	}
}

// close ends the session and the lease renewal that goes with its client.
func (s *session) close() {
	s.cut(fs.ErrClosed) // before Close, which waits for a call in progress
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

func (s *session) sound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead == nil
}

// dropDataNodes closes the DataNode connections that the library left open.
func (s *session) dropDataNodes() {
	s.mu.Lock()
	var drop []*conn
	for c := range s.conns {
		if c.dataNode {
			drop = append(drop, c)
			delete(s.conns, c)
		}
	}
	s.mu.Unlock()
	for _, c := range drop {
		c.fail(fs.ErrClosed)
	}
}

// dataNodeError is the first failure of a DataNode connection since the session was acquired.
func (s *session) dataNodeError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dnErr
}

func (s *session) dialNameNode(_ context.Context, network, addr string) (net.Conn, error) {
	c, err := s.dial(network, addr, false)
	s.mu.Lock()
	s.nn, s.nnErr = addr, err
	s.mu.Unlock()
	return c, err
}

// nameNode is the NameNode that was dialled last, and why it could not be.
func (s *session) nameNode() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nn, s.nnErr
}

func (s *session) dialDataNode(_ context.Context, network, addr string) (net.Conn, error) {
	return s.dial(network, addr, true)
}

// dial ignores the library's context, which is always the background one.
func (s *session) dial(network, addr string, dataNode bool) (net.Conn, error) {
	s.mu.Lock()
	ctx, dead := s.ctx, s.dead
	s.mu.Unlock()
	if dead != nil {
		return nil, dead
	}
	if ctx == nil {
		ctx = context.Background() // the lease renewal of an idle session; the dialer has its timeout
	}
	nc, err := s.dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if !dataNode {
		s.h.meet()
	}
	if dataNode {
		nc, err = s.h.secureDataNode(ctx, nc, s.defaults.encrypts())
	} else {
		nc, err = s.h.secureNameNode(ctx, nc, addr)
	}
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, s: s, dataNode: dataNode}
	if !dataNode {
		c.frames = newNameNodeFilter()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead != nil {
		nc.Close()
		return nil, s.dead
	}
	s.conns[c] = struct{}{}
	if dataNode {
		return &blockConn{conn: c}, nil
	}
	return c, nil
}
