package tlsconf

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// authority returns the certificate authority in testdata.
func authority(t *testing.T) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(at("ca.pem"), at("ca-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// issue returns a server's certificate, modified by change, signed by an authority; self-signed if by is nil.
func issue(t *testing.T, by *tls.Certificate, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "server"}, DNSNames: []string{"rs.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if change != nil {
		change(c)
	}
	parent, signer := c, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serve handles one connection with TLS and echoes a byte. It returns the client's end.
func serve(t *testing.T, conf *tls.Config) net.Conn {
	t.Helper()
	return serveBy(t, func(nc net.Conn) {
		s := tls.Server(nc, conf)
		b := make([]byte, 1)
		if _, err := io.ReadFull(s, b); err == nil {
			s.Write(b)
		}
		io.Copy(io.Discard, s)
		s.Close()
	})
}

func serveBy(t *testing.T, talk func(net.Conn)) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		talk(nc)
	}()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nc.Close()
		l.Close()
		<-done
	})
	return nc
}

// base returns a configuration with TLS and the authority of testdata.
func base(more map[string]string) map[string]string {
	keys := map[string]string{Enabled: "true", trustStore + location: at("ca.pem")}
	maps.Copy(keys, more)
	return keys
}

func client(t *testing.T, more map[string]string) *Client {
	t.Helper()
	c, err := Read(config(base(more)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// talk dials and has a byte echoed.
func talk(t *testing.T, c *Client, nc net.Conn, host string) error {
	t.Helper()
	conn, err := c.Dial(t.Context(), nc, host)
	if err != nil {
		if conn != nil {
			t.Error("a connection and an error")
		}
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return err
}

// TestDial connects to servers of every kind.
func TestDial(t *testing.T) {
	ca := authority(t)
	good := issue(t, &ca, nil)
	other := issue(t, nil, func(c *x509.Certificate) {
		c.Subject.CommonName, c.IsCA, c.BasicConstraintsValid, c.KeyUsage = "another authority", true, true, x509.KeyUsageCertSign
	})
	other.Leaf, _ = x509.ParseCertificate(other.Certificate[0])
	clients := x509.NewCertPool()
	clients.AddCert(ca.Leaf)
	strangers := x509.NewCertPool()
	strangers.AddCert(other.Leaf)
	shows := map[string]string{keyStore + location: at("client.pem")}
	for name, tt := range map[string]struct {
		cert tls.Certificate
		host string
		keys map[string]string
		conf *tls.Config
		want string // "": it works
	}{
		"good":              {cert: good},
		"good, 1.2":         {cert: good, conf: &tls.Config{MaxVersion: tls.VersionTLS12}},
		"good, 1.3":         {cert: good, conf: &tls.Config{MinVersion: tls.VersionTLS13}},
		"good, from a JKS":  {cert: good, keys: map[string]string{trustStore + location: at("trust.jks"), trustStore + password: "changeit"}},
		"expired":           {cert: issue(t, &ca, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), want: "of CN=server in the server's chain has expired on 20"},
		"from tomorrow on":  {cert: issue(t, &ca, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), want: "is valid from 20"},
		"self-signed":       {cert: issue(t, nil, nil), want: "is signed by itself and not in the trust store testdata/ca.pem (hbase.rpc.tls.truststore.location, certificates: 1)"},
		"unknown authority": {cert: issue(t, &other, nil), want: "is from an authority, CN=another authority, that is not in the trust store testdata/ca.pem"},
		"the authority's twin": {cert: func() tls.Certificate {
			twin := issue(t, nil, func(c *x509.Certificate) {
				c.RawSubject, c.IsCA, c.BasicConstraintsValid, c.KeyUsage = ca.Leaf.RawSubject, true, true, x509.KeyUsageCertSign
			})
			twin.Leaf, _ = x509.ParseCertificate(twin.Certificate[0])
			return issue(t, &twin, nil)
		}(), want: "with another key"},
		"for clients":          {cert: issue(t, &ca, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), want: "lacks server authentication"},
		"wrong host":           {cert: good, host: "master.example", want: "is for rs.example, not for master.example"},
		"wrong host, no check": {cert: good, host: "master.example", keys: map[string]string{verifyHostname: "false"}},
		"its address":          {cert: issue(t, &ca, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }), host: "another.example"},
		"common name":          {cert: issue(t, &ca, func(c *x509.Certificate) { c.DNSNames, c.Subject.CommonName = nil, "rs.example" })},
		"common name of others": {cert: issue(t, &ca, func(c *x509.Certificate) { c.DNSNames, c.Subject.CommonName = nil, "*.other.example" }),
			want: "is for *.other.example, not for rs.example"},
		"common name among others": {cert: issue(t, &ca, func(c *x509.Certificate) { c.Subject.CommonName = "master.example" }), host: "master.example", want: "is for rs.example"},
		"a name found in reverse":  {cert: good, host: "127.0.0.2"},
		"no reverse lookup":        {cert: good, host: "127.0.0.2", keys: map[string]string{reverseLookup: "false"}, want: "not for 127.0.0.2"},
		"one suite":                {cert: good, keys: map[string]string{cipherSuites: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}},
		"another suite": {cert: good, keys: map[string]string{cipherSuites: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
			conf: &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}}, want: "handshake failure"},
		"a suite of 1.3 that is not configured": {cert: good, keys: map[string]string{cipherSuites: "TLS_AES_256_GCM_SHA384"}, want: "hbase.rpc.tls.ciphersuites does not have"},
		"older versions": {cert: good, keys: map[string]string{enabledProtocols: "TLSv1.1"}, conf: &tls.Config{MinVersion: tls.VersionTLS12},
			want: "this side offers TLS 1.1 to TLS 1.1: compare hbase.rpc.tls.enabledProtocols"},
		"a certificate of clients, 1.2":   {cert: good, keys: shows, conf: &tls.Config{MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}},
		"a certificate of clients, 1.3":   {cert: good, keys: shows, conf: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}},
		"no certificate, 1.2":             {cert: good, conf: &tls.Config{MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}, want: "requires a client certificate"},
		"no certificate, 1.3":             {cert: good, conf: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}, want: "set hbase.rpc.tls.keystore.location"},
		"no accepted certificate":         {cert: good, keys: shows, conf: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: strangers}, want: "accepts none in testdata/client.pem"},
		"no certificate, and none needed": {cert: good, conf: &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients}},
	} {
		if tt.conf == nil {
			tt.conf = &tls.Config{}
		}
		tt.conf.Certificates = []tls.Certificate{tt.cert}
		if tt.host == "" {
			tt.host = "rs.example"
		}
		nc := serve(t, tt.conf)
		c := client(t, tt.keys)
		c.lookup = func(context.Context, string) ([]string, error) { return []string{"wrong.example.", "rs.example."}, nil }
		err := talk(t, c, nc, tt.host)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, not %q", name, err, tt.want)
			continue
		}
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("%s: %T may be tried again", name, err)
		}
	}
}

// TestPlain connects to a server without TLS, and to servers that close the connection or send nothing.
func TestPlain(t *testing.T) {
	c := client(t, map[string]string{handshakeTimeout: "50"})
	for name, tt := range map[string]struct {
		talk  func(net.Conn)
		want  string
		final bool
	}{
		"another protocol": {func(nc net.Conn) { nc.Write([]byte("\x00\x00\x00\x40 exception")); io.Copy(io.Discard, nc) }, "the server speaks without TLS", true},
		"the end":          {func(net.Conn) {}, "", false},
		"silence":          {func(nc net.Conn) { io.Copy(io.Discard, nc) }, "no TLS handshake within 50ms (hbase.client.netty.tls.handshaketimeout)", false},
	} {
		_, err := c.Dial(t.Context(), serveBy(t, tt.talk), "rs.example")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := errors.AsType[*Error](err); ok != tt.final {
			t.Errorf("%s: %T", name, err)
		}
	}
	ca := authority(t)
	for name, tt := range map[string]struct {
		nc   net.Conn
		want bool
	}{
		"TLS":       {serve(t, &tls.Config{Certificates: []tls.Certificate{issue(t, nil, nil)}}), true},
		"mutual":    {serve(t, &tls.Config{MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{issue(t, &ca, nil)}, ClientAuth: tls.RequireAnyClientCert}), true},
		"something": {serveBy(t, func(nc net.Conn) { nc.Write([]byte("220 hello")); io.Copy(io.Discard, nc) }), false},
	} {
		if got, err := Speaks(t.Context(), tt.nc); got != tt.want || err != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// TestRead checks errors in a configuration.
func TestRead(t *testing.T) {
	for _, off := range []map[string]string{{}, {Enabled: "false", trustStore + location: "none.pem"}} {
		if c, err := Read(config(off)); c != nil || err != nil {
			t.Errorf("%v: %v %v", off, c, err)
		}
	}
	for _, tt := range []struct{ key, value, want string }{
		{Enabled, "yes", `hbase.client.netty.tls.enabled is "yes", neither true nor false`},
		{verifyHostname, "no", "verify.server.hostname"},
		{ocsp, "true", "hbase.rpc.tls.ocsp is true: this program does not ask"},
		{revocationLists, "true", "hbase.rpc.tls.clr is true"},
		{handshakeTimeout, "-1", "handshaketimeout"},
		{handshakeTimeout, "5s", "not a number of milliseconds"},
		{enabledProtocols, "TLSv1.2,SSLv3", `enabledProtocols names "SSLv3"`},
		{oneProtocol, "TLS", `hbase.rpc.tls.protocol names "TLS"`},
		{enabledProtocols, "TLSv1.1,TLSv1.3", "leaves out a version between others: name TLS 1.2"},
		{cipherSuites, "TLS_DHE_DSS_WITH_AES_128_CBC_SHA", "has no cipher suite that this program supports"},
		{keyStore + location, "testdata/none.pem", "hbase.rpc.tls.keystore.location"},
	} {
		if c, err := Read(config(base(map[string]string{tt.key: tt.value}))); c != nil && err == nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: %v", tt.key, tt.value, err)
		}
	}
	for value, want := range map[string][2]uint16{"": {tls.VersionTLS12, tls.VersionTLS13}, "TLSv1.2": {tls.VersionTLS12, tls.VersionTLS12}, "TLSv1.3, TLSv1.2": {tls.VersionTLS12, tls.VersionTLS13}} {
		if c := client(t, map[string]string{enabledProtocols: value}); c.offer.min != want[0] || c.offer.max != want[1] {
			t.Errorf("%q: %+v", value, c.offer)
		}
	}
}

// TestReload checks that a replaced trust store is read again while connections are made.
func TestReload(t *testing.T) {
	store := filepath.Join(t.TempDir(), "trust.pem")
	copyStore := func(name string) {
		text, err := os.ReadFile(at(name))
		if err == nil {
			err = os.WriteFile(store, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	copyStore("ca.pem")
	c := client(t, map[string]string{trustStore + location: store, certReload: "true"})
	ca := authority(t)
	conf := &tls.Config{Certificates: []tls.Certificate{issue(t, &ca, nil)}}
	if err := os.WriteFile(store, nil, 0o600); err != nil { // being replaced
		t.Fatal(err)
	}
	if err := talk(t, c, serve(t, conf), "rs.example"); err != nil {
		t.Error(err)
	}
	text := issue(t, nil, nil)
	if err := os.WriteFile(store, pemOf(text.Certificate[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := talk(t, c, serve(t, conf), "rs.example"); err == nil {
		t.Error("the store of before is in use")
	}
}

// TestValidities checks that a trust store expires with its last certificate, and a key store with the client's
// own certificate.
func TestValidities(t *testing.T) {
	ends := func(in time.Duration) []byte {
		return pemOf(issue(t, nil, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(in) }).Certificate[0])
	}
	store := filepath.Join(t.TempDir(), "trust.pem")
	if err := os.WriteFile(store, slices.Concat(ends(time.Hour), ends(50*time.Hour), ends(2*time.Hour)), 0o600); err != nil {
		t.Fatal(err)
	}
	all := client(t, map[string]string{trustStore + location: store}).Validities()
	if len(all) != 1 || all[0].File != store || all[0].Key != "hbase.rpc.tls.truststore.location" || time.Until(all[0].End) < 49*time.Hour {
		t.Errorf("%+v", all)
	}
	if all := client(t, map[string]string{trustStore + location: ""}).Validities(); len(all) != 0 {
		t.Errorf("the system's certificates: %+v", all)
	}
}

func pemOf(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestWebDialer checks the certificates of Hadoop's web servers: a name in the common name alone counts, as for Java's clients, and a refusal is final.
func TestWebDialer(t *testing.T) {
	ca := authority(t)
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	common := func(name string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = name, nil }
	}
	for name, tt := range map[string]struct {
		conf   *tls.Config
		by     *tls.Certificate
		change func(*x509.Certificate)
		want   string
	}{
		"a common name":           {&tls.Config{RootCAs: roots}, &ca, common("127.0.0.1"), ""},
		"an address":              {&tls.Config{RootCAs: roots}, &ca, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }, ""},
		"another's common name":   {&tls.Config{RootCAs: roots}, &ca, common("rs.example"), "is for rs.example, not for 127.0.0.1"},
		"names, and not this one": {&tls.Config{RootCAs: roots}, &ca, func(c *x509.Certificate) { c.Subject.CommonName = "127.0.0.1" }, "is for rs.example"},
		"an unknown authority":    {nil, &ca, common("127.0.0.1"), "ssl.client.truststore.location is not set"},
		"its own authority":       {&tls.Config{RootCAs: roots}, nil, common("127.0.0.1"), "is signed by itself and not in the store of ssl.client.truststore.location"},
		"nothing is verified":     {&tls.Config{InsecureSkipVerify: true}, nil, nil, ""},
	} {
		own := &tls.Config{Certificates: []tls.Certificate{issue(t, tt.by, tt.change)}}
		l := testcheck.Serve(t, func(nc net.Conn) { io.Copy(io.Discard, tls.Server(nc, own)) })
		c, err := WebDialer(tt.conf)(t.Context(), "tcp", l.Addr().String())
		if err == nil {
			c.Close()
		}
		_, final := errors.AsType[*Error](err)
		if final != (tt.want != "") || final && !strings.Contains(err.Error(), tt.want) || err != nil && strings.Contains(err.Error(), "hbase") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
