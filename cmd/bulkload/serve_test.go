package main

import (
	"net"
	"strings"
	"testing"

	"bulkload/internal/serve"
)

// TestServeExposed checks that an address that others can reach needs clients and TLS, or an explicit flag.
func TestServeExposed(t *testing.T) {
	others, own := &net.TCPAddr{IP: net.IPv4zero, Port: 8091}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8091}
	tls := serve.TLSFiles{Cert: "c", Key: "k"}
	for what, c := range map[string]struct {
		o     serviceFlags
		addr  net.Addr
		want  string
		names bool
	}{
		"own":                    {serviceFlags{}, own, "", true},
		"own, clients":           {serviceFlags{clients: "f"}, own, "", false},
		"others":                 {serviceFlags{}, others, "--clients", false},
		"others, TLS alone":      {serviceFlags{tls: tls}, others, "--clients", false},
		"others, clients alone":  {serviceFlags{clients: "f"}, others, "--tls-cert", false},
		"others, both":           {serviceFlags{clients: "f", tls: tls}, others, "", false},
		"others, meant":          {serviceFlags{insecure: true}, others, "", false},
		"a socket of the system": {serviceFlags{}, &net.UnixAddr{Name: "/run/rows"}, "", true},
	} {
		names, err := c.o.hosts(c.addr)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || (len(names) > 0) != c.names {
			t.Errorf("%s: %q, %v", what, names, err)
		}
	}
	for what, o := range map[string]serviceFlags{"no key": {tls: serve.TLSFiles{Cert: "c"}}, "no certificate": {tls: serve.TLSFiles{Key: "k"}}, "authority without TLS": {clients: "f", tls: serve.TLSFiles{ClientCA: "a"}}, "authority without clients": {tls: serve.TLSFiles{Cert: "c", Key: "k", ClientCA: "a"}}} {
		if o.checkTLS() == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// TestConsoleLimits checks that the console takes any number of requests in flight, half of them from one client.
func TestConsoleLimits(t *testing.T) {
	for _, n := range []int{1, 64, 192, 1024, 1 << 20} {
		l := consoleLimits()
		l.InFlight = n
		if l = l.WithDefaults(); l.Validate() != nil || l.PerClient != max(n/2, 1) {
			t.Errorf("%d: %d of a client, %v", n, l.PerClient, l.Validate())
		}
	}
}
