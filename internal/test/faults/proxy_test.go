package faults

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
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
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &upper{l: l, some: make(chan struct{}, 64)}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
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
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
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
