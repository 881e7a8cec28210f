package dfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/pkg/kerberos"
)

// Options are the settings of a [Client]. All but Login, Data and DataKey are required.
type Options struct {
	Addresses              []string // of NameNodes, host:port, tried in turn
	User                   string
	UseDatanodeHostname    bool               // connect to DataNodes by name, not by address
	DialTimeout, IOTimeout time.Duration      // for a connect, and for each read, write and call
	Login                  *hadooprpc.Options // at NameNodes; nil: simple authentication
	Data                   []kerberos.Quality // protections of data transfer, the preferred one first; none: the strongest
	DataKey                string             // the configuration key of Data, for errors
}

// Client makes NameNode calls and connects to DataNodes. Any number of goroutines may use it.
type Client struct {
	options Options
	met     atomic.Bool // a NameNode has accepted a connection

	mu      sync.Mutex
	first   int // index in Addresses of the first one to try: the last one that answered
	closed  bool
	callers []idleCaller
	peers   []*peer
	failed  map[string]time.Time // when DataNodes failed, by address

	defaults knownDefaults
	key      dataKey

	packets sync.Pool // *[]byte, buffers for packets to write
}

// New returns a client without connecting. The caller must close it.
func New(o Options) *Client { return &Client{options: o} }

// Close closes the idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.Rest()
}

// Rest closes the idle connections. Later calls open new ones.
func (c *Client) Rest() {
	c.mu.Lock()
	callers, peers := c.callers, c.peers
	c.callers, c.peers = nil, nil
	c.mu.Unlock()
	for _, i := range callers {
		i.caller.Close()
	}
	for _, p := range peers {
		p.conn.Close()
	}
}

// Idle returns the number of idle connections to DataNodes.
func (c *Client) Idle() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.peers)
}

// idleCall is the maximum idle time after which a connection to a NameNode is reused. A NameNode closes idle connections
// after 10 s at the earliest. A call on a closed connection counts as a call whose response was lost.
const idleCall = 2 * time.Second

// maxCallers limits the idle connections to NameNodes: as many small files are completed concurrently.
const maxCallers = 32

// idleCaller is an idle connection to a NameNode.
type idleCaller struct {
	caller *hadooprpc.Caller
	server int // index in Addresses
	since  time.Time
}

// Call makes one call of ClientProtocol. It skips NameNodes that are standby or observer, or cannot be reached. sent is false if no
// NameNode can have executed the call. An exception is returned as a [RemoteError], or as the corresponding Go error.
func (c *Client) Call(ctx context.Context, method string, request []byte) (response []byte, sent bool, err error) {
	sent, err = c.With(ctx, func(ctx context.Context, caller *hadooprpc.Caller) (err error) {
		response, err = caller.Call(ctx, method, request)
		return Remote(method, err)
	})
	if e, ok := err.(*RemoteError); ok {
		err = cmp.Or(meanings[e.Exception()], err)
	}
	return response, sent, err
}

// notActive lists the exceptions of standby NameNodes, and of observers for calls that only the active NameNode serves.
var notActive = []string{"org.apache.hadoop.ipc.StandbyException", "org.apache.hadoop.ipc.ObserverRetryOnActiveException"}

// With makes calls on a connection to a NameNode, chosen as in [Client.Call].
func (c *Client) With(ctx context.Context, do func(context.Context, *hadooprpc.Caller) error) (sent bool, err error) {
	var errs []error
	for range c.options.Addresses {
		conn, err := c.caller(ctx)
		if err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		err = c.callOn(ctx, conn, do)
		if e, ok := errors.AsType[*hadooprpc.Error](err); !ok || !slices.Contains(notActive, e.Class) {
			return true, err
		}
		c.PassOver(conn.server)
		errs = append(errs, err)
	}
	return false, errors.Join(errs...)
}

// callOn makes calls on a connection, and keeps the connection if it is sound.
func (c *Client) callOn(ctx context.Context, conn idleCaller, do func(context.Context, *hadooprpc.Caller) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, c.options.IOTimeout, fmt.Errorf("no answer within %s", c.options.IOTimeout))
	defer cancel()
	err := do(limited, conn.caller)
	e, answered := errors.AsType[*hadooprpc.Error](err)
	switch {
	case err == nil, answered && limited.Err() == nil && !e.Fatal:
		c.keepCaller(conn)
		return err
	case answered && limited.Err() == nil:
		conn.caller.Close()
		return err
	}
	conn.caller.Close()
	c.PassOver(conn.server)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("namenode %s: %w", c.options.Addresses[conn.server], err)
}

// caller returns an idle or a new connection.
func (c *Client) caller(ctx context.Context) (idleCaller, error) {
	c.mu.Lock()
	var stale []idleCaller
	for len(c.callers) > 0 {
		i := c.callers[len(c.callers)-1]
		c.callers = c.callers[:len(c.callers)-1]
		if time.Since(i.since) < idleCall {
			c.mu.Unlock()
			return i, nil
		}
		stale = append(stale, i)
	}
	server, closed := c.first, c.closed
	c.mu.Unlock()
	for _, i := range stale {
		i.caller.Close()
	}
	if closed {
		return idleCaller{}, fs.ErrClosed
	}
	nc, err := (&net.Dialer{Timeout: c.options.DialTimeout}).DialContext(ctx, "tcp", c.options.Addresses[server])
	if err == nil {
		c.Meet()
		var conn *hadooprpc.Conn
		if c.options.Login == nil {
			conn, err = hadooprpc.Open(nc, c.options.User, hadooprpc.ClientProtocol)
		} else {
			conn, err = c.LogIn(ctx, nc, c.options.Addresses[server])
		}
		if err == nil {
			return idleCaller{caller: hadooprpc.NewCaller(conn, hadooprpc.ClientProtocol), server: server}, nil
		}
	}
	c.PassOver(server)
	return idleCaller{}, err
}

// LogIn logs in at the NameNode at addr. It closes the connection on failure.
func (c *Client) LogIn(ctx context.Context, nc net.Conn, addr string) (*hadooprpc.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.IOTimeout, fmt.Errorf("no answer within %s", c.options.IOTimeout))
	defer cancel()
	return hadooprpc.Dial(ctx, nc, host, *c.options.Login)
}

func (c *Client) keepCaller(i idleCaller) {
	i.since = time.Now()
	c.mu.Lock()
	keep := !c.closed && len(c.callers) < maxCallers
	if keep {
		c.callers = append(c.callers, i)
	}
	c.mu.Unlock()
	if !keep {
		i.caller.Close()
	}
}

// Meet records that a NameNode has accepted a connection; Met reports whether one has.
func (c *Client) Meet() { c.met.Store(true) }

func (c *Client) Met() bool { return c.met.Load() }

// First returns the index of the NameNode that the next connection tries first.
func (c *Client) First() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first
}

// Prefer makes the next connection start with a NameNode that has answered.
func (c *Client) Prefer(server int) {
	c.mu.Lock()
	c.first = server
	c.mu.Unlock()
}

// PassOver makes the next connection start with the NameNode after this one. It closes idle connections to this one.
func (c *Client) PassOver(server int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == server {
		c.first = (server + 1) % len(c.options.Addresses)
	}
	c.callers = slices.DeleteFunc(c.callers, func(i idleCaller) bool {
		if i.server == server {
			i.caller.Close()
		}
		return i.server == server
	})
}

// Remote returns the error of a method's call, a [RemoteError] for an exception.
func Remote(method string, err error) error {
	if e, ok := errors.AsType[*hadooprpc.Error](err); ok {
		return &RemoteError{method, e}
	}
	return err
}

// RemoteError is a NameNode's exception. It implements Error of github.com/colinmarc/hdfs/v2.
type RemoteError struct {
	method string
	e      *hadooprpc.Error
}

func (e *RemoteError) Method() string    { return e.method }
func (e *RemoteError) Desc() string      { return "ERROR_APPLICATION" }
func (e *RemoteError) Exception() string { return e.e.Class }
func (e *RemoteError) Message() string   { return e.e.Message }
func (e *RemoteError) Error() string     { return fmt.Sprintf("%s call failed (%s)", e.method, e.e.Class) }
func (e *RemoteError) Unwrap() error     { return e.e }

// NameNodeError is the error of a NameNode call that reading or writing a block needs. It says nothing about a DataNode.
type NameNodeError struct{ Err error }

func (e *NameNodeError) Error() string { return e.Err.Error() }
func (e *NameNodeError) Unwrap() error { return e.Err }

// ofNameNode reports whether an error is a [NameNodeError].
func ofNameNode(err error) bool {
	_, is := errors.AsType[*NameNodeError](err)
	return is
}

// meanings are the Go errors that correspond to exceptions.
var meanings = map[string]error{
	"java.io.FileNotFoundException":                         fs.ErrNotExist,
	"org.apache.hadoop.security.AccessControlException":     fs.ErrPermission,
	"org.apache.hadoop.fs.PathIsNotEmptyDirectoryException": syscall.ENOTEMPTY,
	"org.apache.hadoop.fs.FileAlreadyExistsException":       fs.ErrExist,
	"org.apache.hadoop.HadoopIllegalArgumentException":      fs.ErrInvalid,
}
