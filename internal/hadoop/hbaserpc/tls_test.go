package hbaserpc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hadoop/tlsconf"
	"bulkload/internal/test/testcheck"
)

// plain returns a server without TLS: it responds to a login with answer, and closes other
// connections.
func plain(answer string) func(net.Conn) {
	return func(nc net.Conn) {
		begin := make([]byte, preambleLen)
		if _, err := io.ReadFull(nc, begin); err != nil || string(begin) != preamble+byKerberos {
			return
		}
		if _, err := io.ReadFull(nc, make([]byte, 5)); err == nil {
			io.WriteString(nc, answer)
		}
	}
}

const (
	noLogin   = "\x00\x00\x00\x00\xff\xff\xff\xa8"
	wantLogin = "\x00\x00\x00\x01\x00\x00\x00\x05class\x00\x00\x00\x04text"
)

// withTLS returns a server that accepts only TLS, and the client's configuration.
func withTLS(t *testing.T) (func(net.Conn), *tlsconf.Client) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"rs.example"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "trust.pem")
	if err := os.WriteFile(store, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := tlsconf.Read(func(key string) string {
		return map[string]string{tlsconf.Enabled: "true", "hbase.rpc.tls.truststore.location": store}[key]
	})
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	return func(nc net.Conn) {
		s := tls.Server(nc, conf)
		plain(noLogin)(s)
	}, client
}

// TestProbe distinguishes servers with TLS, with logins, and without both.
func TestProbe(t *testing.T) {
	speaks, _ := withTLS(t)
	for name, tt := range map[string]struct {
		talk func(net.Conn)
		want requirements
	}{
		"nothing":  {plain(noLogin), requirements{Plain: true}},
		"Kerberos": {plain(wantLogin), requirements{Plain: true, Kerberos: true}},
		"TLS":      {speaks, requirements{TLS: true}},
	} {
		addr := testcheck.Serve(t, tt.talk).Addr().String()
		got, err := probe(t.Context(), func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) })
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

// TestDialTLS uses TLS on both sides, and on one.
func TestDialTLS(t *testing.T) {
	speaks, client := withTLS(t)
	dial := func(addr, host string) (net.Conn, error) {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		return Secure(t.Context(), nc, host, Security{TLS: client})
	}
	nc, err := dial(testcheck.Serve(t, speaks).Addr().String(), "rs.example")
	if err != nil {
		t.Fatal(err)
	}
	if wants, err := wantsKerberos(t.Context(), nc); wants || err != nil {
		t.Error(wants, err)
	}
	for name, tt := range map[string]struct {
		talk       func(net.Conn)
		host, want string
	}{
		"another host": {speaks, "other.example", "TLS: the server's certificate is for rs.example, not for other.example"},
		"no TLS":       {plain(noLogin), "rs.example", "TLS: the server speaks without TLS"},
	} {
		_, err := dial(testcheck.Serve(t, tt.talk).Addr().String(), tt.host)
		if _, ok := errors.AsType[*LoginError](err); !ok || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
	if _, err := dial(testcheck.Serve(t, func(net.Conn) {}).Addr().String(), "rs.example"); err == nil {
		t.Error("a server that ends every connection: no error")
	} else if _, ok := errors.AsType[*LoginError](err); ok {
		t.Errorf("a server that ends every connection may be starting: %v", err)
	}
}
