package bench

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net"
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
