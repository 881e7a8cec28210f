package serve

import (
	"net"
	"sync"
)

// limitConnections accepts so many connections at a time; the next wait in the
// listener's backlog.
func limitConnections(l net.Listener, most int) net.Listener {
	return &cappedListener{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
}

type cappedListener struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *cappedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &cappedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
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
