package testcheck

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// Server calls a function for each connection to a port of this host.
type Server struct {
	net.Listener
	wait sync.WaitGroup

	mu    sync.Mutex
	open  map[net.Conn]bool
	ended bool
}

// Listen calls serve for each connection to an address, until [Server.Close]. A connection is closed when its call returns.
func Listen(address string, serve func(s *Server, c net.Conn)) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{Listener: l, open: map[net.Conn]bool{}}
	s.wait.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil { // else a client that went away before it was accepted
				s.wait.Go(func() { s.use(c, func() { serve(s, c) }) })
			}
		}
	})
	return s, nil
}

// Forward connects each client at an address to a target, for pass, which returns when the connections have ended. A client gets a reset if there is no
// target.
func Forward(address, target string, pass func(client, server net.Conn)) (*Server, error) {
	return Listen(address, func(s *Server, client net.Conn) {
		server, err := net.DialTimeout("tcp", target, 5*time.Second)
		if err != nil {
			Reset(client) // the closest to a refused connection
			return
		}
		s.use(server, func() { pass(client, server) })
	})
}

// use calls do, during which Close closes the connection, and closes it itself then.
func (s *Server) use(c net.Conn, do func()) {
	defer c.Close()
	s.mu.Lock()
	ended := s.ended
	s.open[c] = true
	s.mu.Unlock()
	if !ended {
		do()
	}
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
}

// Close closes the port and all connections, and returns when all calls have returned.
func (s *Server) Close() error {
	err := s.Listener.Close()
	s.mu.Lock()
	s.ended = true
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
	return err
}

// Reset closes a connection so that the other side gets a reset rather than an end.
func Reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}

// Serve calls serve for each connection to a new port on this host, until the test ends. It returns the port's listener, which may be closed alone.
func Serve(t testing.TB, serve func(net.Conn)) net.Listener {
	t.Helper()
	s, err := Listen("127.0.0.1:0", func(_ *Server, c net.Conn) { serve(c) })
	Must(t, err)
	t.Cleanup(func() { s.Close() })
	return s.Listener
}

// ClosedAddress returns an address of this host, with a port, at which nothing listens.
func ClosedAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.97.3:0") // another host than the usual one, where another process may get a closed port at once
	Must(t, err)
	Must(t, l.Close())
	return l.Addr().String()
}
