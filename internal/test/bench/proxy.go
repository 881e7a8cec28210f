package bench

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy forwards TCP connections and delays their data. Each direction has the same delay, without a limit of the data in
// transit, like a long line.
type Proxy struct {
	listener net.Listener
	target   string
	delay    time.Duration
	wait     sync.WaitGroup
	carried  atomic.Int64
	done     chan struct{} // closed by Close

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// NewProxy listens on one address and connects to the other, both host:port. The caller closes it.
func NewProxy(listen, target string, delay time.Duration) (*Proxy, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("delaying proxy for %s: %w", target, err)
	}
	p := &Proxy{listener: l, target: target, delay: delay, conns: map[net.Conn]bool{}, done: make(chan struct{})}
	p.wait.Go(p.accept)
	return p, nil
}

// Addr returns the proxy's address.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Carried returns the number of bytes received in both directions.
func (p *Proxy) Carried() int64 { return p.carried.Load() }

// Close ends the proxy with all its connections and returns when all its goroutines have ended.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if !p.closed {
		close(p.done)
	}
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.wait.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // A client that went away before it was accepted.
		}
		if p.keep(c) {
			p.wait.Go(func() { p.serve(c) })
		}
	}
}

// keep records a connection for Close. After Close it closes the connection at once.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	c.Close()
}

func (p *Proxy) serve(client net.Conn) {
	defer p.drop(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	if !p.keep(server) {
		return
	}
	defer p.drop(server)
	var both sync.WaitGroup
	both.Go(func() { p.pass(server, client) })
	both.Go(func() { p.pass(client, server) })
	both.Wait()
}

// pause waits until a piece is due and reports whether to write it: data in transit when the proxy closes are lost.
func (p *Proxy) pause(d time.Duration) bool {
	select {
	case <-p.done:
		return false
	default:
	}
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-p.done:
		return false
	}
}

// piece is some bytes with their arrival time.
type piece struct {
	data []byte
	due  time.Time
}

// Pieces of at most 64 KiB in transit in one direction: 16 MiB, far more than a link of a few milliseconds holds.
const (
	pieceSize   = 64 << 10
	piecesAhead = 256
)

// pass forwards one direction until it ends.
func (p *Proxy) pass(dst, src net.Conn) {
	under := make(chan piece, piecesAhead)
	spare := make(chan []byte, piecesAhead)
	var writing sync.WaitGroup
	writing.Go(func() {
		broken := false
		for s := range under {
			// Pieces after a broken connection are discarded, so that the reader never hangs.
			if !broken {
				if !p.pause(time.Until(s.due)) {
					broken = true
				} else if _, err := dst.Write(s.data); err != nil {
					broken = true
					src.Close()
				}
			}
			select {
			case spare <- s.data[:cap(s.data)]:
			default:
			}
		}
		if half, ok := dst.(interface{ CloseWrite() error }); ok {
			half.CloseWrite()
		}
	})
	for {
		var buf []byte
		select {
		case buf = <-spare:
		default:
			buf = make([]byte, pieceSize)
		}
		n, err := src.Read(buf)
		if n > 0 {
			p.carried.Add(int64(n))
			under <- piece{buf[:n], time.Now().Add(p.delay)}
		}
		if err != nil {
			break
		}
	}
	close(under)
	writing.Wait()
}
