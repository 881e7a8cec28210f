package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/kerberos"
)

// negotiated returns the service of checks with clients that authenticate by Kerberos, with its own KDC.
func negotiated(t *testing.T, o Options) (*service, *testcluster.Cluster, string) {
	t.Helper()
	kdc := testcluster.StartKDC(t, testcluster.Security{Kerberos: true})
	key, err := os.ReadFile(kdc.Keytab("HTTP/localhost"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o.Keytab, o.Clients = filepath.Join(dir, "http.keytab"), filepath.Join(dir, "clients.yaml")
	clients := fmt.Sprintf("clients:\n- {name: loans, principals: [%s], jobs: [\"*\"]}\n- {name: web, principals: [%s], token_sha256: [%s], jobs: [check], columns: {check: [id, check_id]}}\n",
		testcluster.Principal("loader"), testcluster.Principal("nocreate"), digest("secret-of-web"))
	for path, b := range map[string][]byte{o.Keytab: key, o.Clients: []byte(clients)} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := checks(t, o, 3)
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	return s, kdc, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
}

// TestNegotiate checks that clients are identified by the Kerberos tickets of their principals, and get the grants of the
// file, with this project's library, MIT's (curl), and the JDK's, which also authenticates the service.
func TestNegotiate(t *testing.T) {
	n := newNegotiation(t)
	n.withoutTicket(t)
	n.tickets(t)
	n.audit(t)
	if r := n.as("Bearer secret-of-web", "/openapi.json"); !strings.Contains(r.body, `"scheme":"negotiate"`) || strings.Contains(r.body, "mutualTLS") {
		t.Errorf("%s", r.body)
	}
	t.Run("curl", n.curl)
	t.Run("JDK", n.jdk)
	t.Run("another key", n.anotherKey)
}

// A negotiation is the service with clients that authenticate by Kerberos, its log and its audit log.
type negotiation struct {
	service    *service
	kdc        *testcluster.Cluster
	address    string
	conf       *kerberos.Config
	log, lines bytes.Buffer
}

// newNegotiation opens the service.
func newNegotiation(t *testing.T) *negotiation {
	t.Helper()
	n := &negotiation{}
	n.service, n.kdc, n.address = negotiated(t, Options{Log: slog.New(slog.NewTextHandler(&n.log, nil)), Audit: &n.lines})
	var err error
	n.conf, err = kerberos.LoadConfig(n.kdc.Krb5Conf())
	testcheck.Must(t, err)
	return n
}

// token returns a header with a user's ticket for a service.
func (n *negotiation) token(t *testing.T, user, service string) string {
	t.Helper()
	c, err := kerberos.Login(t.Context(), kerberos.Options{Config: n.conf, Principal: user, Keytab: n.kdc.Keytab(user)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, token, err := c.Initiate(t.Context(), service, "")
	if err != nil {
		t.Fatal(err)
	}
	return "Negotiate " + base64.StdEncoding.EncodeToString(token)
}

// as sends a request with a header.
func (n *negotiation) as(authorization, path string) reply {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", authorization)
	return n.service.do(r)
}

// negotiatedRows are the rows that clients request.
const negotiatedRows = "/v1/check/rows?check_id=A"

// withoutTicket checks that the response to an unknown client has the authentication schemes.
func (n *negotiation) withoutTicket(t *testing.T) {
	r := n.service.get(negotiatedRows)
	r.refuses(t, "nobody", unauthenticated)
	if h := r.header["Www-Authenticate"]; len(h) != 3 || h[0] != "Negotiate" {
		t.Errorf("%q", h)
	}
	if r.Detail != "send a token (Authorization: Bearer), or a Kerberos ticket (Authorization: Negotiate)" {
		t.Errorf("%q", r.Detail)
	}
	if r := n.as("Bearer secret-of-web", "/docs"); !strings.Contains(r.body, "a Kerberos ticket (Authorization: Negotiate); a browser asks") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// tickets checks that a ticket is valid once, for the service and for its client's grants; a token is accepted too.
func (n *negotiation) tickets(t *testing.T) {
	loans := n.token(t, "loader", "HTTP/localhost")
	if r := n.as(loans, negotiatedRows); r.status != 200 || len(r.Rows) != 3 || len(r.Rows[0]) != 3 {
		t.Errorf("%d %s", r.status, r.body)
	}
	n.as(loans, negotiatedRows).refuses(t, "a token a second time", unauthenticated)
	if r := n.as("negotiate"+strings.TrimPrefix(n.token(t, "nocreate", "HTTP/localhost"), "Negotiate"), negotiatedRows); r.status != 200 || len(r.Rows[0]) != 2 {
		t.Errorf("of some columns: %d %s", r.status, r.body)
	}
	n.as(n.token(t, "nocreate", "HTTP/localhost"), "/v1/orders/scan").refuses(t, "another job", forbidden)
	n.as(n.token(t, "nobody", "HTTP/localhost"), negotiatedRows).refuses(t, "who is not a client", forbidden)
	n.as(n.token(t, "loader", "hbase/localhost"), negotiatedRows).refuses(t, "a ticket for another service", unauthenticated)
	n.as("Negotiate ????", negotiatedRows).refuses(t, "no base64", unauthenticated)
	n.as("Negotiate TlRMTVNTUAABAAAA", negotiatedRows).refuses(t, "NTLM", unauthenticated)
	if r := n.as("Bearer secret-of-web", negotiatedRows); r.status != 200 {
		t.Errorf("a token with it: %d", r.status)
	}
	if count := strings.Count(n.log.String(), "ticket is refused"); count != 1 || !strings.Contains(n.log.String(), "it came before") {
		t.Errorf("%d warnings of callers' tickets:\n%s", count, n.log.String())
	}
}

// audit checks that the audit log has the client and the principal of each request.
func (n *negotiation) audit(t *testing.T) {
	var who []string
	for line := range strings.Lines(n.lines.String()) {
		var l auditLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		who = append(who, fmt.Sprintf("%s|%s|%d", l.Client, strings.TrimSuffix(l.Principal, "@"+testcluster.Realm), l.Status))
	}
	if got, want := strings.Join(who, " "), "||401 loans|loader|200 ||401 web|nocreate|200 web|nocreate|403 |nobody|403 ||401 ||401 ||401 web||200"; got != want {
		t.Errorf("audit log:\n%s, want\n%s", got, want)
	}
}

// curl checks that MIT's library authenticates, and sends two requests.
func (n *negotiation) curl(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "curl", "--version").Output(); err != nil || !bytes.Contains(out, []byte("SPNEGO")) {
		t.Skip("there is no curl with SPNEGO")
	}
	cache := "FILE:" + filepath.Join(t.TempDir(), "cache")
	if _, err := n.kdc.Kerberos(t.Context(), []string{"KRB5CCNAME=" + cache}, "kinit", "-k", "-t", n.kdc.Keytab("loader"), "loader"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "curl", "--silent", "--noproxy", "*", "--negotiate", "--user", ":", "--write-out", "\n%{http_code}", n.address+negotiatedRows, n.address+negotiatedRows)
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+n.kdc.Krb5Conf(), "KRB5CCNAME="+cache)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), `"check_id":"A"`) != 6 || strings.Count(string(out), "\n200") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// jdk checks that the JDK's library authenticates, and that it authenticates the service.
func (n *negotiation) jdk(t *testing.T) {
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), "java", "-Djava.security.krb5.conf="+n.kdc.Krb5Conf(), "testdata/Negotiate.java", n.address+negotiatedRows, n.kdc.Keytab("loader"), testcluster.Principal("loader"))
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "200 true" {
		t.Errorf("%v %s", err, out)
	}
}

// anotherKey checks that a new key of the service is loaded without a restart, and that a damaged keytab leaves the
// previous one in use.
func (n *negotiation) anotherKey(t *testing.T) {
	for _, query := range [][]string{{"cpw", "-randkey", "HTTP/localhost"}, {"ktadd", "-norandkey", "-k", n.service.options.Keytab, "HTTP/localhost"}} {
		if query[0] == "ktadd" {
			n.as(n.token(t, "loader", "HTTP/localhost"), negotiatedRows).refuses(t, "a key that the keytab has not", unauthenticated)
		}
		if _, err := n.kdc.Kerberos(t.Context(), nil, "kadmin.local", query...); err != nil {
			t.Fatal(err)
		}
	}
	if n.service.fingerprint() == n.service.loaded.Load().files {
		t.Error("another keytab is not seen")
	}
	if err := n.service.Reload(); err != nil {
		t.Fatal(err)
	}
	if r := n.as(n.token(t, "loader", "HTTP/localhost"), negotiatedRows); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if err := os.WriteFile(n.service.options.Keytab, []byte("\x05\x02\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.service.Reload(); err == nil || !strings.Contains(err.Error(), "keytab") {
		t.Errorf("a damaged keytab: %v", err)
	}
	if r := n.as(n.token(t, "loader", "HTTP/localhost"), negotiatedRows); r.status != 200 {
		t.Errorf("the keytab before is not in use any more: %d %s", r.status, r.body)
	}
}

// TestPrincipals checks invalid principals in clients files.
func TestPrincipals(t *testing.T) {
	s := known(t, Options{})
	for text, want := range map[string]string{
		"clients: [{name: a, jobs: [check], principals: [ann@OURS.TEST]}]": "has no keytab of HTTP/HOST",
		"clients: [{name: a, jobs: [check], principals: [ann]}]":           `"ann" is not USER@REALM`,
		"clients: [{name: a, jobs: [check], principals: [a@R, a@R]}]":      "stands twice",
	} {
		if err := os.WriteFile(s.options.Clients, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Reload(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Open(Options{Jobs: s.dir, Keytab: "http.keytab"}); err == nil || !strings.Contains(err.Error(), "needs the clients") {
		t.Errorf("a keytab without clients: %v", err)
	}
}
