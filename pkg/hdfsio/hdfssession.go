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
	"bulkload/internal/hadoop/dfs"

	"github.com/colinmarc/hdfs/v2"
)

// session is a client of the library with its NameNode connection, used by one operation at a time: the library keeps
// unguarded state in its Client, and a cancelled context cuts only the connection of its own operation.
type session struct {
	hdfs   *HDFS
	client *hdfs.Client

	mu   sync.Mutex
	ctx  context.Context // of the current user
	conn *conn           // the most recent one
	dead error           // set when the session was cut
	nn   int             // the NameNode that was dialled last
	err  error           // why dialling it failed

	since time.Time // start of the idle time
}

// idleSession is how long a session is kept idle. The library renews leases on each connection once a second, though no file is open.
const idleSession = 2 * time.Second

// expired removes the sessions from h.free that have been idle for long. The caller holds h.mu, and closes them without it.
func (h *HDFS) expired() []*session {
	n := 0
	for n < len(h.free) && time.Since(h.free[n].since) >= idleSession {
		n++
	}
	old := h.free[:n:n]
	h.free = h.free[n:]
	return old
}

// keep adds a session to the idle ones, which are closed when they have been idle for long. The caller holds h.mu.
func (h *HDFS) keep(s *session) {
	s.since = time.Now()
	h.free = append(h.free, s)
	if h.expiry == nil {
		h.expireIn(idleSession)
	}
}

// expireIn closes sessions that have been idle for long after a while, and later the others. The caller holds h.mu.
func (h *HDFS) expireIn(d time.Duration) {
	h.expiring.Add(1)
	h.expiry = time.AfterFunc(d, func() {
		defer h.expiring.Done()
		h.mu.Lock()
		old := h.expired()
		h.expiry = nil
		if len(h.free) > 0 {
			h.expireIn(idleSession - time.Since(h.free[0].since))
		}
		h.mu.Unlock()
		closeAll(old)
	})
}

func closeAll(sessions []*session) {
	for _, s := range sessions {
		s.close()
	}
}

// acquire returns an idle or a new session. The context bounds its use until release.
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
	old := h.expired()
	if n := len(h.free); n > 0 {
		s, h.free = h.free[n-1], h.free[:n-1]
	}
	h.mu.Unlock()
	closeAll(old)
	fresh := s == nil
	if fresh {
		s = &session{hdfs: h}
	}
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.cut(context.Cause(ctx)) })
	if !fresh {
		return s, stop, nil
	}
	first := h.dfs.First()
	client, err := hdfs.NewClient(hdfs.ClientOptions{
		Addresses:        append(slices.Clone(h.options.Addresses[first:]), h.options.Addresses[:first]...),
		User:             h.options.User,
		NamenodeDialFunc: s.dial,
	})
	if err != nil {
		if _, cause := s.nameNode(); cause != nil {
			err = fmt.Errorf("namenode: %w", cause) // the library keeps only its text
		}
		stop()
		s.cut(err)
		h.dfs.PassOver(first)
		return nil, nil, err
	}
	s.client = client
	return s, stop, nil
}

// release returns a session to the idle ones, or closes it if it is not sound. The next session starts with the NameNode that
// answered, or with the one after a NameNode that did not: a frozen or disconnected NameNode accepts connections, or takes a
// connect's timeout, before it fails.
func (h *HDFS) release(s *session, stop func() bool, sound bool) {
	stopped := stop()
	if server, _ := s.nameNode(); stopped && sound {
		h.dfs.Prefer(server)
	} else if stopped {
		h.dfs.PassOver(server)
	}
	if stopped && sound && s.alive() {
		s.mu.Lock()
		s.ctx = nil
		s.mu.Unlock()
		h.mu.Lock()
		if !h.closed && len(h.free) < h.options.MaxIdle {
			h.keep(s)
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
	s.close()
}

// once makes one call on one session.
func (h *HDFS) once(ctx context.Context, call func(*hdfs.Client) error) error {
	s, stop, err := h.acquire(ctx)
	if err != nil {
		return err
	}
	err = call(s.client)
	h.release(s, stop, answered(err))
	return err
}

// retry makes a repeatable call of the library. Each attempt after a broken connection uses a new client: the library keeps a
// dead socket after a failed read, and after a failed write refuses the NameNode for 5 s.
func (h *HDFS) retry(ctx context.Context, op, name string, call func(*hdfs.Client) error) error {
	return h.repeat(ctx, op, name, func() error { return h.once(ctx, call) })
}

// repeat retries a call until it is answered or RetryTimeout has passed.
func (h *HDFS) repeat(ctx context.Context, op, name string, call func() error) error {
	started := time.Now()
	for attempt := 0; ; attempt++ {
		err := call()
		if !transient(err) {
			return h.denied(ctx, op, pathError(op, name, err), name)
		}
		if err := h.pause(ctx, started, attempt, op, name, err); err != nil {
			return err
		}
	}
}

// about is repeat for a call about a name that is to be checked.
func (h *HDFS) about(ctx context.Context, op, name string, call func(name string) error) error {
	name, err := cleanName(op, name)
	if err != nil {
		return err
	}
	return h.repeat(ctx, op, name, func() error { return call(name) })
}

// pause waits before the next attempt. It returns an error if the context or the time has ended.
func (h *HDFS) pause(ctx context.Context, started time.Time, attempt int, op, name string, err error) error {
	if errors.Is(err, fs.ErrClosed) && h.isClosed() {
		return pathError(op, name, fs.ErrClosed)
	}
	if ctx.Err() != nil {
		return ended(ctx, op, name, err)
	}
	if attempt == 0 {
		if err := h.wantsLogin(ctx); err != nil {
			return pathError(op, name, err)
		}
	}
	unmet := h.unmet(err)
	within := h.options.RetryTimeout
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
	h.options.Log.Warn("retrying HDFS RPC", "op", op, "path", name, "try", attempt+1, "wait", wait, "error", err)
	if retry.Sleep(ctx, wait) != nil {
		return ended(ctx, op, name, err)
	}
	return nil
}

// ended returns the error of a call whose context has ended. After a deadline it includes the error of the last attempt.
func ended(ctx context.Context, op, name string, last error) error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && answered(last) {
		if e, ok := errors.AsType[*fs.PathError](pathError(op, name, last)); ok {
			cause = fmt.Errorf("%w: %w", cause, e.Err)
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: cause}
}

func (h *HDFS) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// cut breaks the connection; a call in progress returns with an error.
func (s *session) cut(err error) {
	s.mu.Lock()
	if s.dead == nil {
		s.dead = err
	}
	c := s.conn
	s.mu.Unlock()
	if c != nil {
		c.fail(err)
	}
}

// close ends the session and its client's lease renewal.
func (s *session) close() {
	s.cut(fs.ErrClosed) // before Close, which waits for a call in progress
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

func (s *session) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead == nil
}

// nameNode returns the NameNode that was dialled last, and the error of dialling it.
func (s *session) nameNode() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nn, s.err
}

// dial connects to a NameNode. It ignores the library's context, which is always the background context.
func (s *session) dial(_ context.Context, network, addr string) (net.Conn, error) {
	s.mu.Lock()
	ctx, dead := s.ctx, s.dead
	s.mu.Unlock()
	if dead != nil {
		return nil, dead
	}
	if ctx == nil {
		ctx = context.Background() // the lease renewal of an idle session; the dialer has its timeout
	}
	nc, err := s.hdfs.dialNameNode(ctx, network, addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nn, s.err = max(slices.Index(s.hdfs.options.Addresses, addr), 0), err
	if err == nil && s.dead != nil {
		nc.Close()
		err = s.dead
	}
	if err != nil {
		return nil, err
	}
	s.conn = &conn{PatientConn: &dfs.PatientConn{Conn: nc, Timeout: s.hdfs.options.IOTimeout}, frames: newNameNodeFilter()}
	return s.conn, nil
}

// dialNameNode connects to a NameNode, and logs in if security is configured.
func (h *HDFS) dialNameNode(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := (&net.Dialer{Timeout: h.options.DialTimeout, KeepAlive: 30 * time.Second}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	h.dfs.Meet()
	if h.options.Security == nil {
		return nc, nil
	}
	c, err := h.dfs.LogIn(ctx, nc, addr)
	if err != nil {
		return nil, err
	}
	return c.Library(), nil
}
