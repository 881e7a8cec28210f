package main

import (
	"net"
	"os"
	"path/filepath"
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

// TestListenSystemd checks that a socket is refused that systemd did not pass to this process.
func TestListenSystemd(t *testing.T) {
	for _, env := range [][2]string{{"", ""}, {"1", "1"}, {"", "1"}} {
		t.Setenv("LISTEN_PID", env[0])
		t.Setenv("LISTEN_FDS", env[1])
		if _, err := openListener(t.Context(), socketActivation); err == nil {
			t.Errorf("%q: a socket is taken", env)
		}
	}
	if _, err := openListener(t.Context(), "8091"); err == nil {
		t.Error("a port alone is taken")
	}
}

// TestAppendFile checks that the file is reopened after its name was given to another file.
func TestAppendFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	a, err := openAppend(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	write := func(s string) {
		if _, err := a.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	write("1\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("2\n")
	if err := a.Reopen(); err != nil {
		t.Fatal(err)
	}
	write("3\n")
	for name, want := range map[string]string{path: "3\n", path + ".1": "1\n2\n"} {
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
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
