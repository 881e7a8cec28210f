package testcheck

import (
	"io"
	"net"
	"testing"
)

// TestServe checks that each connection has its own call, and that no connection or call is left when the test ends.
func TestServe(t *testing.T) {
	var open []net.Conn
	t.Run("echo", func(t *testing.T) {
		l := Serve(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
		for _, text := range []string{"first", "second"} {
			c, err := net.Dial("tcp", l.Addr().String())
			Must(t, err)
			open = append(open, c)
			_, err = io.WriteString(c, text)
			Must(t, err)
			b := make([]byte, len(text))
			if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
				t.Errorf("%q, %v", b, err)
			}
		}
	})
	for _, c := range open {
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("after the test %d bytes come", n)
		}
		Must(t, c.Close())
	}
}

func TestClosedAddress(t *testing.T) {
	if c, err := net.Dial("tcp", ClosedAddress(t)); err == nil {
		_ = c.Close()
		t.Error("there is an answer")
	}
}
