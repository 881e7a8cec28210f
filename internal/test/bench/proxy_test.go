package bench

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// echo returns the data of each connection to the sender.
func echo(t *testing.T) net.Listener {
	t.Helper()
	return testcheck.Serve(t, func(c net.Conn) { io.Copy(c, c) })
}

func TestProxyCarriesAll(t *testing.T) {
	l := echo(t)
	p, err := NewProxy("127.0.0.1:0", l.Addr().String(), 2*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	go func() {
		c.Write(sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(got) != sha256.Sum256(sent) {
		t.Errorf("%d bytes sent, %d other ones came back", len(sent), len(got))
	}
	if n := p.Carried(); n != 2*int64(len(sent)) {
		t.Errorf("%d bytes carried, %d wanted", n, 2*len(sent))
	}
}

// TestProxyDelays checks that nothing arrives early. How late it arrives depends on the machine and is not checked.
func TestProxyDelays(t *testing.T) {
	l := echo(t)
	const delay = 20 * time.Millisecond
	p, err := NewProxy("127.0.0.1:0", l.Addr().String(), delay)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var b [1]byte
	for range 3 {
		start := time.Now()
		if _, err := c.Write(b[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 2*delay {
			t.Errorf("there and back in %s, twice %s wanted at least", took, delay)
		}
	}
}

// TestProxyCloses ends connections in the middle.
func TestProxyCloses(t *testing.T) {
	l := echo(t)
	p, err := NewProxy("127.0.0.1:0", l.Addr().String(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("under way for an hour")); err != nil {
		t.Fatal(err)
	}
	testcheck.Eventually(t, time.Minute, "the proxy has what was sent", func() (bool, any) { n := p.Carried(); return n > 0, n })
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection outlives the proxy")
	}
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Error("the proxy still listens")
	}
}

// Proxy forwards TCP connections and delays their data. Each direction has the same delay, without a limit of the data in
// transit, like a long line.
type Proxy struct {
	*testcheck.Server
	delay   time.Duration
	carried atomic.Int64
	done    chan struct{} // closed by Close
	end     func()
}

// NewProxy listens on one address and connects to the other, both host:port. The caller closes it.
func NewProxy(listen, target string, delay time.Duration) (*Proxy, error) {
	p := &Proxy{delay: delay, done: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.done) })
	var err error
	if p.Server, err = testcheck.Forward(listen, target, p.serve); err != nil {
		return nil, fmt.Errorf("delaying proxy for %s: %w", target, err)
	}
	return p, nil
}

// Addr returns the proxy's address.
func (p *Proxy) Addr() string { return p.Server.Addr().String() }

// Carried returns the number of bytes received in both directions.
func (p *Proxy) Carried() int64 { return p.carried.Load() }

// Close ends the proxy with all its connections and returns when all its goroutines have ended.
func (p *Proxy) Close() error {
	p.end()
	return p.Server.Close()
}

func (p *Proxy) serve(client, server net.Conn) {
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
