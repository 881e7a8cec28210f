package serve

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestSilentConnections checks that an address which takes all places and sends nothing does not keep another address waiting, which keeps its own
// silent connection.
func TestSilentConnections(t *testing.T) {
	s := checks(t, Options{ProbeEvery: time.Hour, Limits: Limits{Connections: 4, HeaderWait: time.Hour}}, 1)
	address, _ := s.serve(t)
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", address)
		testcheck.Must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	first := dial("127.0.0.3")
	for range 20 {
		dial("127.0.0.1")
	}
	for _, c := range []net.Conn{dial("127.0.0.2"), first} {
		testcheck.Must(t, c.SetDeadline(time.Now().Add(time.Minute)))
		fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "200") {
			t.Errorf("from %s: %q, %v", c.LocalAddr(), line, err)
		}
	}
}

// TestSilentConnectionAtTheEnd checks that a connection that has sent no request, such as a browser's spare one, neither prolongs the end of the service
// nor makes it a failure.
func TestSilentConnectionAtTheEnd(t *testing.T) {
	s := checks(t, Options{ProbeEvery: time.Hour, Limits: Limits{Drain: 3 * time.Second}}, 1)
	address, stop := s.serve(t)
	silent, err := net.Dial("tcp", address)
	testcheck.Must(t, err)
	defer silent.Close()
	r, err := http.Get("http://" + address + "/healthz") // the connection before is accepted
	testcheck.Must(t, err)
	r.Body.Close()
	began := time.Now()
	if err := stop(); err != nil || time.Since(began) > 2500*time.Millisecond {
		t.Errorf("it ended after %s: %v", time.Since(began), err)
	}
}
