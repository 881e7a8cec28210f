package testcheck

import (
	"net"
	"sync"
	"testing"
)

// Serve calls serve for each connection to a new port on this host. When the test ends, it closes the port and all connections, and waits
// until the calls have returned. A connection is closed when its call returns.
func Serve(t testing.TB, serve func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	ended := false
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			if open = append(open, c); ended {
				c.Close()
			}
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		ended = true
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l
}

// ClosedAddress returns an address of this host, with a port, at which nothing listens.
func ClosedAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.97.3:0") // another host than the usual one, where another process may get a closed port at once
	Must(t, err)
	Must(t, l.Close())
	return l.Addr().String()
}
