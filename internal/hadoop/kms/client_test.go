package kms

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/kerberos"
)

var sample = EncryptedKey{Name: "k1", Version: "k1@0", Material: []byte("0123456789abcdef"), IV: []byte("fedcba9876543210")}

// server starts a KMS whose data keys are the encrypted ones with each byte inverted. before may respond in its place.
func server(t *testing.T, before func(w http.ResponseWriter, r *http.Request) bool) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil && before(w, r) {
			return
		}
		var k struct{ Name, IV, Material string }
		if err := json.NewDecoder(r.Body).Decode(&k); err != nil || r.Method != http.MethodPost || r.URL.Path != "/kms/v1/keyversion/k1@0/_eek" ||
			r.URL.Query().Get("eek_op") != "decrypt" || k.Name != "k1" || k.IV != base64.RawURLEncoding.EncodeToString(sample.IV) {
			t.Errorf("%s %s: %+v, %v", r.Method, r.URL, k, err)
		}
		material, err := base64.RawURLEncoding.DecodeString(k.Material)
		testcheck.Must(t, err)
		for i := range material {
			material[i] = ^material[i]
		}
		fmt.Fprintf(w, `{"material":%q,"name":"k1","versionName":"EK"}`, base64.RawURLEncoding.EncodeToString(material))
	}))
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, o Options, servers ...*httptest.Server) *Client {
	for _, s := range servers {
		o.Servers = append(o.Servers, s.URL+"/kms")
	}
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

func wantKey(t *testing.T, c *Client, k EncryptedKey) {
	t.Helper()
	key, err := c.DataKey(t.Context(), k)
	want := slices.Clone(k.Material)
	for i := range want {
		want[i] = ^want[i]
	}
	if err != nil || string(key) != string(want) {
		t.Errorf("key %x, %v, want %x", key, err, want)
	}
}

// TestKeysAreRemembered checks that an encrypted key is requested once, and another one separately.
func TestKeysAreRemembered(t *testing.T) {
	var asked atomic.Int32
	s := server(t, func(_ http.ResponseWriter, r *http.Request) bool {
		asked.Add(1)
		if user := r.URL.Query().Get("user.name"); user != "etl" {
			t.Errorf("asked by %q", user)
		}
		return false
	})
	c := client(t, Options{User: "etl"}, s)
	other := sample
	other.Material = []byte("0123456789abcdef0123456789abcdef")
	for range 3 {
		wantKey(t, c, sample)
		wantKey(t, c, other)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
	c.Close()
	if wantKey(t, c, sample); asked.Load() != 3 {
		t.Error("a closed client remembers keys")
	}
}

// TestServersInTurn checks that a server that does not answer, or fails, is skipped, and that later requests start with the
// server that answered.
func TestServersInTurn(t *testing.T) {
	var failed, answered atomic.Int32
	bad := server(t, func(w http.ResponseWriter, _ *http.Request) bool {
		failed.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	good := server(t, func(http.ResponseWriter, *http.Request) bool {
		answered.Add(1)
		return false
	})
	c := client(t, Options{User: "etl", Servers: []string{"http://" + testcheck.ClosedAddress(t) + "/kms"}}, bad, good)
	for i := range 3 {
		k := sample
		k.Material = slices.Clone(k.Material)
		k.Material[0] = byte(i)
		wantKey(t, c, k)
	}
	if failed.Load() != 1 || answered.Load() != 3 {
		t.Errorf("the server that fails was asked %d times, the good one %d times", failed.Load(), answered.Load())
	}
	c = client(t, Options{User: "etl"}, bad)
	if _, err := c.DataKey(t.Context(), sample); err == nil || Final(err) || !strings.Contains(err.Error(), "answers 503") {
		t.Errorf("no server answers: %v", err)
	}
}

// TestRefusals checks that a KMS's refusals (as seen from Hadoop 3.4.3) are distinguished by the exception, not by the status.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body, text string
		want       error
	}{
		"no right":       {403, `{"RemoteException":{"message":"User [alice] is not authorized to perform [DECRYPT_EEK] on key with ACL name [k2]!!","exception":"AuthorizationException"}}`, "[DECRYPT_EEK]", ErrDenied},
		"blacklist":      {403, `{"RemoteException":{"message":"User:hdfs not allowed to do 'DECRYPT_EEK' on 'k1'","exception":"AuthorizationException"}}`, "not allowed", ErrDenied},
		"token is gone":  {403, `{"RemoteException":{"message":"token (kms-dt owner=x) can't be found in cache","exception":"AuthenticationException"}}`, "can't be found", ErrLogin},
		"no login":       {401, `<html>Authentication required</html>`, "answers 401", ErrLogin},
		"key is deleted": {400, `{"RemoteException":{"message":"'k1@9' not found","exception":"IllegalArgumentException"}}`, "not found", ErrNoKey},
		"its own fault":  {500, `{"RemoteException":{"message":"disk","exception":"IOException"}}`, "disk", nil},
		"html":           {502, "<html>\n", "answers 502", nil},
		"no key":         {200, `{"material":"","name":"k1"}`, "malformed", nil},
		"a short key":    {200, `{"material":"AAAA"}`, "malformed", nil},
		"not json":       {200, `<html>`, "malformed", nil},
	} {
		s := server(t, func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
			return true
		})
		_, err := client(t, Options{User: "etl"}, s).DataKey(t.Context(), sample)
		if err == nil || Final(err) != (c.want != nil) || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fakeProof returns a token for one service.
type fakeProof struct {
	service string
	made    *atomic.Int32
}

func (f fakeProof) Initiate(_ context.Context, service, _ string) (*kerberos.Context, []byte, error) {
	if service != f.service {
		return nil, nil, fmt.Errorf("%w: %s", kerberos.ErrUnknownService, service)
	}
	f.made.Add(1)
	return nil, []byte("ticket"), nil
}

// TestKerberos checks that a login's cookie is used until the server refuses it, and that there is then one new login.
func TestKerberos(t *testing.T) {
	var mu sync.Mutex
	good := "one"
	s := server(t, func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if cookie, err := r.Cookie("hadoop.auth"); err == nil && cookie.Value == good {
			return false
		}
		if proof, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Negotiate "); ok {
			token, err := base64.StdEncoding.DecodeString(proof)
			if err != nil || !strings.HasSuffix(string(token), "ticket") {
				t.Errorf("proof %q", token)
			}
			http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: good, Quoted: true})
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	u, err := url.Parse(s.URL)
	testcheck.Must(t, err)
	var made atomic.Int32
	c := client(t, Options{Kerberos: fakeProof{"HTTP/" + u.Hostname(), &made}}, s)
	ask := func(n byte) {
		t.Helper()
		k := sample
		k.Material = append(slices.Clone(k.Material[:15]), n)
		wantKey(t, c, k)
	}
	ask(1)
	ask(2)
	if n := made.Load(); n != 1 {
		t.Errorf("%d logins for two keys", n)
	}
	mu.Lock()
	good = "two"
	mu.Unlock()
	ask(3)
	if n := made.Load(); n != 2 {
		t.Errorf("%d logins once the cookie had ended", n)
	}
	c = client(t, Options{Kerberos: fakeProof{"HTTP/localhost", &made}, Servers: []string{strings.Replace(s.URL, u.Hostname(), "LocalHost", 1) + "/kms"}})
	if ask(4); made.Load() != 3 {
		t.Error("no login at a KMS whose name has capitals, which MIT's KDC does not know")
	}
	c = client(t, Options{Kerberos: fakeProof{"HTTP/elsewhere", &made}}, s)
	if _, err := c.DataKey(t.Context(), sample); !errors.Is(err, ErrLogin) {
		t.Errorf("a KMS that the KDC does not know: %v", err)
	}
}

// TestToken checks that a delegation token takes precedence over other logins, in the form of Hadoop's Token.encodeToUrlString.
func TestToken(t *testing.T) {
	s := server(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if got := r.Header.Get("X-Hadoop-Delegation-Token"); got != "AmlkAnB3Bmttcy1kdAFz" || r.URL.Query().Has("user.name") {
			t.Errorf("token %q of %s", got, r.URL)
		}
		return false
	})
	wantKey(t, client(t, Options{User: "etl", Token: &kerberos.Token{Identifier: []byte("id"), Password: []byte("pw"), Kind: TokenKind, Service: "s"}}, s), sample)
}

// TestTokenFor checks that a container with tokens of several KMSs uses the one whose service is the KMS.
func TestTokenFor(t *testing.T) {
	const address = "kms://https@a.invalid;127.0.0.1:9600/kms"
	token := func(service string) *kerberos.Token { return &kerberos.Token{Kind: TokenKind, Service: service} }
	other, uri, server, single := token("kms://http@other:9600/kms"), token(address+"/"), token("127.0.0.1:9600"), token("anything")
	for name, c := range map[string]struct {
		tokens []*kerberos.Token
		want   *kerberos.Token
		fails  bool
	}{
		"none":            {},
		"the only one":    {tokens: []*kerberos.Token{single}, want: single},
		"by the address":  {tokens: []*kerberos.Token{other, uri}, want: uri},
		"by a server":     {tokens: []*kerberos.Token{other, server}, want: server},
		"of others alone": {tokens: []*kerberos.Token{other, single}, fails: true},
	} {
		got, err := TokenFor(t.Context(), address, c.tokens)
		if got != c.want || c.fails != errors.Is(err, ErrLogin) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestCertificates checks that a server whose certificate has its name in the common name alone is accepted, as by Java's clients, and that a certificate
// that nothing trusts is a final error if no other server answers.
func TestCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testcheck.Must(t, err)
	issued := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, issued, issued, key.Public(), key)
	testcheck.Must(t, err)
	leaf, err := x509.ParseCertificate(der)
	testcheck.Must(t, err)
	s := httptest.NewUnstartedServer(server(t, nil).Config.Handler)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	s.URL = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	wantKey(t, client(t, Options{User: "etl", TLS: &tls.Config{RootCAs: roots}}, s), sample)
	if _, err := client(t, Options{User: "etl"}, s).DataKey(t.Context(), sample); !Final(err) || !strings.Contains(err.Error(), "ssl.client.truststore") {
		t.Errorf("not trusted: %v", err)
	}
	silent := &httptest.Server{URL: "http://" + testcheck.ClosedAddress(t)}
	if _, err := client(t, Options{User: "etl"}, s, silent).DataKey(t.Context(), sample); err == nil || Final(err) {
		t.Errorf("not trusted, and one that does not answer: %v", err)
	}
}

// TestSilentServer checks that a request to a server that accepts a connection and does not respond ends after the timeout, or
// with its context.
func TestSilentServer(t *testing.T) {
	release := make(chan struct{})
	s := server(t, func(http.ResponseWriter, *http.Request) bool {
		<-release
		return true
	})
	t.Cleanup(func() { close(release) })
	c := client(t, Options{User: "etl", Timeout: 50 * time.Millisecond}, s)
	if _, err := c.DataKey(t.Context(), sample); err == nil || Final(err) || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("a silent server: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	cancel(cause)
	if _, err := client(t, Options{User: "etl"}, s).DataKey(ctx, sample); !errors.Is(err, cause) {
		t.Errorf("a stopped context: %v", err)
	}
}

func TestParseAddress(t *testing.T) {
	for address, want := range map[string][]string{
		"kms://http@localhost:9600/kms":            {"http://localhost:9600/kms"},
		"kms://https@a.example;b.example:9600/kms": {"https://a.example:9600/kms", "https://b.example:9600/kms"},
		"jceks://file/x, kms://http@h:1/kms/":      {"http://h:1/kms"},
		"kms://http@h/kms":                         {"http://h/kms"},
		"kms://http@h:1":                           {"http://h:1"},
		"":                                         nil, "jceks://file/x": nil, "kms://h:1/kms": nil, "kms://ftp@h:1/kms": nil, "kms://http@a;:1/kms": nil,
	} {
		got, err := ParseAddress(address)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v, want %q", address, got, err, want)
		}
	}
}
