package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

// connections limits the number of open connections. Further ones wait in the listener's backlog. If the limit is reached,
// a connection between two requests is closed, the longest idle one first, so that no client can block others by staying
// connected. If none is idle, an address that holds more than half of the places without having sent a request loses the
// longest silent one. A proxy's connections have sent requests.
type connections struct {
	most int

	mu       sync.Mutex
	open     int
	waiting  bool          // a connection waits for a place
	evicting bool          // a connection is being closed
	idle     []net.Conn    // longest idle first
	silent   []net.Conn    // without a request yet, the oldest first
	ends     bool          // no request is read any more
	room     chan struct{} // wakes the one that waits
}

func newConnections(most int) *connections {
	return &connections{most: most, room: make(chan struct{}, 1)}
}

// enter takes a place if one is free.
func (c *connections) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open < c.most {
		c.open++
		return true
	}
	c.waiting = true
	c.evict()
	return false
}

func (c *connections) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.waiting, c.evicting = false, false
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// evict closes an idle or silent connection if one waits for its place. The caller holds the lock.
func (c *connections) evict() {
	if !c.waiting || c.evicting {
		return
	}
	victim := c.greedy()
	if len(c.idle) > 0 {
		victim = c.idle[0]
	}
	if victim != nil {
		go victim.Close() // this frees its place; with TLS, Close writes first
		c.forget(victim)
		c.evicting = true
	}
}

// greedy returns the oldest silent connection of an address that has too many of them; nil if there is none.
func (c *connections) greedy() net.Conn {
	held := map[string][]net.Conn{}
	for _, conn := range c.silent {
		address, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		if held[address] = append(held[address], conn); len(held[address]) > max(1, c.most/2) {
			return held[address][0]
		}
	}
	return nil
}

func (c *connections) forget(conn net.Conn) {
	same := func(other net.Conn) bool { return other == conn }
	c.idle, c.silent = slices.DeleteFunc(c.idle, same), slices.DeleteFunc(c.silent, same)
}

// state tracks the state of a server's connections (http.Server.ConnState).
func (c *connections) state(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
	switch state {
	case http.StateNew:
		if c.silent = append(c.silent, conn); c.ends {
			go conn.Close()
		}
	case http.StateIdle:
		c.idle = append(c.idle, conn)
		c.evict()
	}
}

// end closes the silent connections once the server shuts down ([http.Server.RegisterOnShutdown]), which waits for them, but answers none of their requests.
func (c *connections) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = true
	for _, conn := range c.silent {
		go conn.Close()
	}
}

// limit returns a listener that accepts no more connections than the limit.
func (c *connections) limit(l net.Listener) net.Listener {
	return &cappedListener{Listener: l, connections: c, closed: make(chan struct{})}
}

type cappedListener struct {
	net.Listener
	connections *connections
	closed      chan struct{}
	once        sync.Once
}

func (l *cappedListener) Accept() (net.Conn, error) {
	for !l.connections.enter() {
		select {
		case <-l.connections.room:
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		l.connections.leave()
		return nil, err
	}
	return &cappedConn{Conn: conn, leave: sync.OnceFunc(l.connections.leave)}, nil
}

func (l *cappedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type cappedConn struct {
	net.Conn
	leave func()
}

func (c *cappedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// socketActivation is the address of a socket that systemd passes (sd_listen_fds(3)).
const socketActivation = "systemd"

// Listen listens at an address, or takes the one socket that systemd has opened.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	if address != socketActivation {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("%q is not a host:port", address)
		}
		return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	if pid, n := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS"); pid != strconv.Itoa(os.Getpid()) || n != "1" {
		return nil, errors.New("systemd must pass exactly one socket: start the service by a .socket unit with one ListenStream")
	}
	const first = 3 // SD_LISTEN_FDS_START
	syscall.CloseOnExec(first)
	f := os.NewFile(first, "systemd")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("the socket that systemd passes: %w", err)
	}
	return l, nil
}
