package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// upper answers each message of 13 bytes with "done!" and counts the bytes that it received.
type upper struct {
	l    net.Listener
	mu   sync.Mutex
	got  []byte
	some chan struct{}
}

func newUpper(t *testing.T) *upper {
	t.Helper()
	u := &upper{some: make(chan struct{}, 64)}
	u.l = testcheck.Serve(t, func(c net.Conn) {
		b := make([]byte, len(method))
		for {
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			u.mu.Lock()
			u.got = append(u.got, b...)
			u.mu.Unlock()
			u.some <- struct{}{}
			io.WriteString(c, "done!")
		}
	})
	return u
}

func (u *upper) await(t *testing.T) {
	t.Helper()
	select {
	case <-u.some:
	case <-time.After(time.Minute):
		t.Fatal("the server got nothing")
	}
}

func (u *upper) text() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return string(u.got)
}

// TestProxies checks every harm against its description, with a server of the test.
func TestProxies(t *testing.T) {
	for _, c := range []struct {
		harm      Harm
		message   string
		delivered bool
		answered  bool
		served    int
	}{
		{"", string(method), true, true, 1},
		{AnswerCut, "no load, no h", true, true, 0},
		{AnswerCut, string(method), true, false, 1},
		{AnswerDelay, string(method), true, true, 1},
		{RequestCut, string(method), false, false, 0},
		{RequestLate, string(method), true, false, 1},
		{AnswerSwallow, string(method), true, false, 1},
	} {
		t.Run(string(c.harm)+" "+c.message, func(t *testing.T) {
			u := newUpper(t)
			p, err := OpenProxies("127.0.0.3", []int{u.l.Addr().(*net.TCPAddr).Port})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if c.harm != "" {
				p.Arm(c.harm, 1, 50*time.Millisecond)
			}
			conn, err := net.Dial("tcp4", p.listens[0].Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			// In two parts: the method may arrive in pieces.
			for _, part := range []string{c.message[:4], c.message[4:]} {
				if _, err := io.WriteString(conn, part); err != nil && !errors.Is(err, syscall.EPIPE) {
					t.Fatal(err)
				}
			}
			if c.delivered {
				u.await(t)
			}
			if c.harm == AnswerSwallow {
				conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			}
			b := make([]byte, 5)
			_, err = io.ReadFull(conn, b)
			if answered := err == nil; answered != c.answered {
				t.Errorf("answer %q, %v", b, err)
			}
			if !c.answered && c.harm != AnswerSwallow && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
				t.Errorf("the connection broke with %v", err)
			}
			_, served := p.Disarm()
			if served != c.served {
				t.Errorf("%d calls reached the server, want %d", served, c.served)
			}
			if want := c.message; c.delivered && u.text() != want || !c.delivered && u.text() == want {
				t.Errorf("the server got %q", u.text())
			}
		})
	}
}

// Harm is the way in which a proxy disturbs a call of BulkLoadHFile.
type Harm string

// The harms. If the harm is about the answer, the server has done the load.
const (
	AnswerCut     Harm = "answer-cut"     // the connection breaks when the answer arrives
	AnswerSwallow Harm = "answer-swallow" // the answer never arrives, the connection stays open
	AnswerDelay   Harm = "answer-delay"   // the answer arrives late
	RequestCut    Harm = "request-cut"    // the connection breaks and the server never gets the request
	RequestLate   Harm = "request-late"   // the connection breaks and the server gets the request later
)

// Proxies are proxies in front of the region servers. They forward everything except the loading calls that they were
// armed for. HBase is configured so that meta has their addresses, not those of the servers.
type Proxies struct {
	mu      sync.Mutex
	harm    Harm
	delay   time.Duration
	left    int // number of further calls to disturb
	calls   int // loading calls seen since Arm
	served  int // those of them that reached a server
	hit     chan struct{}
	done    chan struct{} // closed by Close
	listens []*testcheck.Server
	late    sync.WaitGroup // calls that are delivered late
}

// OpenProxies listens on each port of host and connects to the same port of localhost.
func OpenProxies(host string, ports []int) (*Proxies, error) {
	p := &Proxies{hit: make(chan struct{}), done: make(chan struct{})}
	for _, port := range ports {
		l, err := testcheck.Forward(fmt.Sprintf("%s:%d", host, port), fmt.Sprintf("127.0.0.1:%d", port), p.serve)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("proxy of a region server: %w", err), p.Close())
		}
		p.listens = append(p.listens, l)
	}
	return p, nil
}

// Arm disturbs the next n loading calls; delay is for the harms that are late. It resets the counters, and returns a
// channel that is closed when the first call is disturbed.
func (p *Proxies) Arm(h Harm, n int, delay time.Duration) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.harm, p.left, p.delay, p.calls, p.served = h, n, delay, 0, 0
	p.hit = make(chan struct{})
	return p.hit
}

// Disarm ends the harm, and waits until every late call was delivered and answered. It returns the number of loading
// calls since Arm, and of those that reached a server.
func (p *Proxies) Disarm() (calls, served int) {
	p.mu.Lock()
	p.left = 0
	p.mu.Unlock()
	p.late.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls, p.served
}

// take returns the harm of a loading call.
func (p *Proxies) take() (Harm, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	h := Harm("")
	if p.left > 0 {
		p.left--
		h = p.harm
		select {
		case <-p.hit:
		default:
			close(p.hit)
		}
	}
	if h != RequestCut {
		p.served++
	}
	if h == RequestLate {
		p.late.Add(1)
	}
	return h, p.delay
}

// Close ends all connections and returns when all goroutines have ended.
func (p *Proxies) Close() error {
	close(p.done)
	var errs []error
	for _, l := range p.listens {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// link is one connection of a client to a server.
type link struct {
	p              *Proxies
	client, server net.Conn
	ended          chan struct{} // closed after the last read from the server
	mu             sync.Mutex    // guards the following fields
	harm           Harm          // to the answer
	delay          time.Duration
}

func (p *Proxies) serve(client, server net.Conn) {
	l := &link{p: p, client: client, server: server, ended: make(chan struct{})}
	var answers sync.WaitGroup
	answers.Go(l.answers)
	l.requests()
	server.Close()
	answers.Wait()
}

// method is in the header of a loading call, and of no other call of the program or of HBase.
var method = []byte("BulkLoadHFile")

// requests forwards the client's data until they end.
func (l *link) requests() {
	buf := make([]byte, 64<<10)
	var tail []byte // end of the previous data, in which the method may begin
	loading := false
	for {
		n, err := l.client.Read(buf)
		if n > 0 {
			seen := append(tail, buf[:n]...)
			if !loading && bytes.Contains(seen, method) {
				loading = true
				h, delay := l.p.take()
				switch h {
				case RequestCut:
					testcheck.Reset(l.client)
					return
				case RequestLate:
					testcheck.Reset(l.client)
					l.deliver(buf[:n], delay)
					return
				}
				l.mu.Lock()
				l.harm, l.delay = h, delay
				l.mu.Unlock()
			}
			tail = append([]byte(nil), seen[max(0, len(seen)-len(method)):]...)
			if _, err := l.server.Write(buf[:n]); err != nil {
				testcheck.Reset(l.client)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// lateAnswer limits the wait for the answer to a call that was delivered late.
const lateAnswer = 90 * time.Second

// deliver sends the server a call that its client has given up. The goroutine of answers reads the server's answer; a
// region that is closed answers too.
func (l *link) deliver(request []byte, delay time.Duration) {
	defer l.p.late.Done()
	l.mu.Lock()
	l.harm = RequestLate
	l.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-l.p.done:
		return
	}
	l.server.SetReadDeadline(time.Now().Add(lateAnswer))
	if _, err := l.server.Write(request); err != nil {
		return
	}
	select {
	case <-l.ended:
	case <-l.p.done:
	}
}

// answers forwards the server's data.
func (l *link) answers() {
	defer close(l.ended)
	defer l.client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		if n > 0 {
			l.mu.Lock()
			h, delay := l.harm, l.delay
			l.mu.Unlock()
			switch h {
			case AnswerCut:
				testcheck.Reset(l.client)
				return
			case RequestLate:
				return
			case AnswerSwallow:
				continue
			case AnswerDelay:
				select {
				case <-time.After(delay):
				case <-l.p.done:
					return
				}
			}
			if _, err := l.client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				testcheck.Reset(l.client)
			}
			return
		}
	}
}
