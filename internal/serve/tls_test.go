package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates of a test.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) issue(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.NotBefore = time.Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return out, key
}

// files writes a certificate and its key as PEM.
func (a *authority) files(cert, key string, c *x509.Certificate) {
	a.t.Helper()
	leaf, k := a.issue(c)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	for path, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: leaf.Raw}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if path == "" {
			continue
		}
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

// client returns a certificate of a client of that name.
func (a *authority) client(name string) *tls.Certificate {
	c, k := a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "loans"}, DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return &tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: k}
}

// serverCertificate returns a certificate of the service with the given subject.
func serverCertificate(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{"rows.example.com"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
}

// A tlsLab is a service that runs with TLS and a listener for its health.
type tlsLab struct {
	dir           string
	ca, other     *authority
	service       *service
	rowsAt, admin net.Listener
	stop          func()
	ended         chan error
}

// newTLSLab runs the service.
func newTLSLab(t *testing.T) *tlsLab {
	t.Helper()
	l := &tlsLab{dir: t.TempDir(), ca: newAuthority(t), other: newAuthority(t), ended: make(chan error, 1)}
	l.ca.files(l.at("tls.crt"), l.at("tls.key"), serverCertificate("first"))
	if err := os.WriteFile(l.at("ca.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.ca.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	clients := clientsText() + "- name: batch\n  certificates: [batch.example.com]\n  jobs: [check]\n"
	if err := os.WriteFile(l.at("clients.yaml"), []byte(clients), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l.rowsAt, l.admin = listen(), listen()
	l.service = checks(t, Options{Clients: l.at("clients.yaml"), TLS: &TLSFiles{Cert: l.at("tls.crt"), Key: l.at("tls.key"), ClientCA: l.at("ca.crt")}, Admin: l.admin, Limits: Limits{Drain: time.Minute}}, 2)
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	go func() { l.ended <- l.service.Serve(ctx, l.rowsAt) }()
	return l
}

func (l *tlsLab) at(name string) string { return filepath.Join(l.dir, name) }

// rows returns the address of a row.
func (l *tlsLab) rows() string {
	return "https://" + l.rowsAt.Addr().String() + "/v1/check/rows?check_id=A"
}

// get sends a request with a token or a certificate, and the highest version of TLS.
func (l *tlsLab) get(t *testing.T, url, token string, certificate *tls.Certificate, most uint16) (int, string, error) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(l.ca.cert)
	c := &tls.Config{RootCAs: roots, ServerName: "rows.example.com", MaxVersion: most}
	if certificate != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	transport := &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if resp.TLS != nil {
		b = append(b, resp.TLS.PeerCertificates[0].Subject.CommonName...)
	}
	return resp.StatusCode, string(b), err
}

// TestTLS checks that connections are encrypted, that clients are identified by certificate or token, that certificates
// can change at run time, and that health is on its own listener.
func TestTLS(t *testing.T) {
	l := newTLSLab(t)
	l.clientsAreKnown(t)
	l.healthIsApart(t)
	l.certificatesChange(t)
	l.ends(t)
}

// clientsAreKnown checks that a client is identified by its token or its certificate, over TLS 1.2 and 1.3 only.
func (l *tlsLab) clientsAreKnown(t *testing.T) {
	for what, c := range map[string]struct {
		token  string
		cert   *tls.Certificate
		most   uint16
		status int // 0: no connection
	}{
		"a token":                  {"secret-of-loans", nil, 0, 200},
		"a certificate":            {"", l.ca.client("batch.example.com"), 0, 200},
		"another certificate":      {"", l.ca.client("nobody.example.com"), 0, 401},
		"another authority's":      {"", l.other.client("batch.example.com"), 0, 0},
		"nothing":                  {"", nil, 0, 401},
		"TLS 1.1":                  {"secret-of-loans", nil, tls.VersionTLS11, 0},
		"TLS 1.2":                  {"secret-of-loans", nil, tls.VersionTLS12, 200},
		"both, the certificate's":  {"secret-of-web", l.ca.client("batch.example.com"), 0, 200},
		"a certificate of no name": {"secret-of-web", l.ca.client("nobody.example.com"), 0, 200},
	} {
		status, body, err := l.get(t, l.rows(), c.token, c.cert, c.most)
		if status != c.status || (err != nil) != (c.status == 0) || status == 200 && !strings.HasSuffix(body, "first") {
			t.Errorf("%s: %d %s %v, want %d", what, status, body, err, c.status)
		}
	}
	if status, _, err := l.get(t, strings.Replace(l.rows(), "https", "http", 1), "secret-of-loans", nil, 0); status == 200 {
		t.Errorf("without TLS: %d %v", status, err)
	}
}

// healthIsApart checks that health and metrics are only on the admin's listener, and rows are not.
func (l *tlsLab) healthIsApart(t *testing.T) {
	for path, want := range map[string]int{"/healthz": 404, "/metrics": 404, "/readyz": 404} {
		if status, body, err := l.get(t, "https://"+l.rowsAt.Addr().String()+path, "secret-of-loans", nil, 0); status != want {
			t.Errorf("%s: %d %s %v", path, status, body, err)
		}
		if status, body, err := l.get(t, "http://"+l.admin.Addr().String()+path, "", nil, 0); status != 200 && !(path == "/readyz" && status == 503) {
			t.Errorf("%s of the admin: %d %s %v", path, status, body, err)
		}
	}
	if status, _, _ := l.get(t, "http://"+l.admin.Addr().String()+"/v1/check/rows?check_id=A", "secret-of-loans", nil, 0); status != 404 {
		t.Errorf("rows of the admin: %d", status)
	}
}

// certificatesChange checks that an expired certificate is refused, and that a new one is loaded.
func (l *tlsLab) certificatesChange(t *testing.T) {
	before := l.service.fingerprint()
	past := serverCertificate("old")
	past.NotAfter = time.Now().Add(-time.Minute)
	l.ca.files(l.at("tls.crt"), l.at("tls.key"), past)
	if err := l.service.Reload(); err == nil || !strings.Contains(err.Error(), "it ended on") {
		t.Errorf("a certificate that ended: %v", err)
	}
	l.ca.files(l.at("tls.crt"), "", serverCertificate("another key's"))
	if err := l.service.Reload(); err == nil {
		t.Error("a certificate of another key is taken")
	}
	l.ca.files(l.at("tls.crt"), l.at("tls.key"), serverCertificate("second"))
	if l.service.fingerprint() == before {
		t.Error("the change is not seen")
	}
	if err := l.service.Reload(); err != nil {
		t.Fatal(err)
	}
	if status, body, err := l.get(t, l.rows(), "secret-of-loans", nil, 0); status != 200 || !strings.HasSuffix(body, "second") {
		t.Errorf("%d %s %v", status, body, err)
	}
}

// ends checks that the service ends without an error and closes its listeners.
func (l *tlsLab) ends(t *testing.T) {
	l.stop()
	if err := <-l.ended; err != nil {
		t.Errorf("its end: %v", err)
	}
	if _, err := net.Dial("tcp", l.admin.Addr().String()); err == nil {
		t.Error("the admin's listener is open")
	}
}
