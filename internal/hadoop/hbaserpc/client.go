package hbaserpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/region"
	"golang.org/x/sync/singleflight"
)

// The services of HBase's servers. A connection is to one of them.
const (
	MasterService                     = region.MasterClient
	ClientService                     = region.RegionClient // rows of a region server
	AdminService    region.ClientType = "AdminService"      // administrative calls about the regions of a region server
	RegistryService region.ClientType = "ClientMetaService" // the RPC registry: of masters since HBase 2.3, of region servers since 2.5
)

// ErrClosed is the error of calls of a closed [Client].
var ErrClosed = errors.New("the connection to the cluster is closed")

// Options are the settings of a [Client]. All but Secure are required.
type Options struct {
	// User is the user of all calls.
	User string
	// Dialer makes the connections below HBase's protocol.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// Secure authenticates on a connection, and closes it on failure. Nil: the servers have no security.
	Secure func(ctx context.Context, nc net.Conn, host string, master bool) (net.Conn, error)
	// RegistryMasters says that the servers of the RPC registry are masters.
	RegistryMasters bool
	// DialTimeout bounds a connect.
	DialTimeout time.Duration
	// CallTimeout bounds the silence of a server on a shared connection, and each write.
	CallTimeout time.Duration
}

// Client makes the connections to the servers of a cluster. It may be used by any number of goroutines. A nil client is closed.
type Client struct {
	opts Options

	mu      sync.Mutex
	closed  bool
	servers map[serverKey]*server
}

// NewClient returns a client without connections.
func NewClient(o Options) *Client { return &Client{opts: o, servers: map[serverKey]*server{}} }

// Close ends the shared connections. Calls in progress on them return with an error, and later connects with [ErrClosed]. A second call does nothing.
func (c *Client) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	servers := c.servers
	c.servers, c.closed = nil, true
	c.mu.Unlock()
	for _, s := range servers {
		s.close()
	}
}

// Closed reports whether Close was called.
func (c *Client) Closed() bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// serverKey identifies a connection: HBase fixes the service when a connection is made.
type serverKey struct {
	addr    string
	service region.ClientType
}

// server holds the connection to one server that ordinary calls share.
type server struct {
	dials singleflight.Group // of one key

	mu     sync.Mutex
	link   *Connection
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
		s.link.Close()
	}
}

// open returns the connection, nil if there is none or it broke.
func (s *server) open() (*Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.link != nil && s.link.tap.failure() != nil {
		s.link.Close()
		s.link = nil
	}
	return s.link, nil
}

// redial makes a connection if there is none. It is called once at a time.
func (s *server) redial(ctx context.Context, dial func(context.Context) (*Connection, error)) (*Connection, error) {
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
		l.Close()
		return nil, ErrClosed
	}
	s.link = l
	return l, err
}

// Connect returns the shared connection to a server, a new one if there is none or it broke. Concurrent callers share one dial and its
// failure; it continues when the context of one of them ends.
func (c *Client) Connect(ctx context.Context, addr string, service region.ClientType) (*Connection, error) {
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
		return s.redial(context.WithoutCancel(ctx), func(ctx context.Context) (*Connection, error) {
			return c.Dial(ctx, addr, service, c.opts.CallTimeout)
		})
	})
	select {
	case r := <-dialed:
		l, _ := r.Val.(*Connection)
		return l, r.Err
	case <-ctx.Done():
		return nil, &ConnectionError{Addr: addr, Err: context.Cause(ctx)}
	}
}

// Connection is a connection to one service of a server. Any number of goroutines may make calls on it.
type Connection struct {
	client hrpc.RegionClient
	tap    *tap
	hello  int64 // bytes written by the time it was ready, or was last renewed

	mu     sync.Mutex
	latest time.Time // when the latest call began that was answered
}

// Dial makes a connection of the caller's own. readTimeout is how long the server may be silent while an answer is due.
func (c *Client) Dial(ctx context.Context, addr string, service region.ClientType, readTimeout time.Duration) (*Connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.DialTimeout, silence("no connection within "+c.opts.DialTimeout.String()))
	defer cancel()
	nc, err := c.opts.Dialer(ctx, "tcp", addr)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, &ConnectionError{Addr: addr, Err: err}
	}
	if c.opts.Secure != nil {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, errors.Join(err, nc.Close())
		}
		if nc, err = c.opts.Secure(ctx, nc, host, service == MasterService || service == RegistryService && c.opts.RegistryMasters); err != nil {
			return nil, &ConnectionError{Addr: addr, Err: err}
		}
	}
	t := newTap(nc, c.opts.CallTimeout, readTimeout)
	// A queue of one and no flush interval: our calls are not batched.
	client := region.NewClient(addr, service, 1, 0, c.opts.User, readTimeout, nil,
		func(context.Context, string, string) (net.Conn, error) { return t, nil })
	if err := client.Dial(ctx); err != nil {
		nc.Close()
		if cause := t.failure(); cause != nil {
			err = cause
		}
		return nil, &ConnectionError{Addr: addr, Err: err}
	}
	return &Connection{client: client, tap: t, hello: t.written.Load()}, nil
}

// Close ends the connection.
func (l *Connection) Close() { l.client.Close() }

// Renew reports whether the connection is unbroken. Errors of later calls do not count what was sent so far. No call may be under way.
func (l *Connection) Renew() bool {
	if l.tap.failure() != nil {
		return false
	}
	l.hello = l.tap.written.Load()
	return true
}

// explain turns gohbase's errors into ours. gohbase reports a broken connection without the reason, which the tap has recorded.
func (l *Connection) explain(err error) error {
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

// TakeLog redirects the lines of logrus' standard logger to another log. All get the level debug: gohbase's lines contain row keys, and
// the outcome of a call is reported by an error, or by a warning of ours.
func TakeLog(log *slog.Logger) {
	logrus.SetOutput(io.Discard)
	hooks := logrus.LevelHooks{}
	if log.Enabled(context.Background(), slog.LevelDebug) {
		logrus.SetLevel(logrus.DebugLevel)
		hooks.Add(logrusHook{log.With("component", "gohbase")})
	}
	logrus.StandardLogger().ReplaceHooks(hooks)
}

// logrusHook writes the lines of a logrus logger to a log.
type logrusHook struct{ log *slog.Logger }

func (logrusHook) Levels() []logrus.Level { return logrus.AllLevels }

func (h logrusHook) Fire(e *logrus.Entry) error {
	attrs := make([]slog.Attr, 0, len(e.Data)+1)
	if e.Level <= logrus.WarnLevel {
		attrs = append(attrs, slog.String("severity", e.Level.String()))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Data)) {
		name := key
		if key == "err" {
			name = "error"
		}
		attrs = append(attrs, slog.String(name, logText(e.Data[key])))
	}
	h.log.LogAttrs(context.Background(), slog.LevelDebug, e.Message, attrs...)
	return nil
}

// logText formats a value of a log line. A value without a text form of its own may be in use by others, so only its type is printed.
func logText(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case string, []byte, bool, int, int32, int64, uint32, uint64, float64:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%T", v)
}
