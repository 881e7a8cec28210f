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

	"bulkload/internal/testcluster"
	"bulkload/pkg/kerberos"
)

// negotiated is the service of checks with clients that Kerberos proves, on a KDC of its own.
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

// TestNegotiate: clients are known by the Kerberos tickets of their principals, and are granted what the file says, with the
// library that this project has, MIT's (curl), and the JDK's, which also has the service prove itself.
func TestNegotiate(t *testing.T) {
	var log, lines bytes.Buffer
	s, kdc, address := negotiated(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Audit: &lines})
	conf, err := kerberos.LoadConfig(kdc.Krb5Conf())
	if err != nil {
		t.Fatal(err)
	}
	token := func(user, service string) string {
		t.Helper()
		c, err := kerberos.Login(kerberos.Options{Config: conf, Principal: user, Keytab: kdc.Keytab(user)})
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
	as := func(authorization, path string) reply {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Authorization", authorization)
		return s.do(r)
	}
	const rows = "/v1/check/rows?check_id=A"
	r := s.get(rows)
	r.refuses(t, "nobody", unauthenticated)
	if h := r.header["Www-Authenticate"]; len(h) != 3 || h[0] != "Negotiate" {
		t.Errorf("%q", h)
	}
	if r.Detail != "send a token (Authorization: Bearer), or a Kerberos ticket (Authorization: Negotiate)" {
		t.Errorf("%q", r.Detail)
	}
	if r := as("Bearer secret-of-web", "/docs"); !strings.Contains(r.body, "a Kerberos ticket (Authorization: Negotiate); a browser asks") {
		t.Errorf("%d %s", r.status, r.body)
	}
	loans := token("loader", "HTTP/localhost")
	if r := as(loans, rows); r.status != 200 || len(r.Rows) != 3 || len(r.Rows[0]) != 3 {
		t.Errorf("%d %s", r.status, r.body)
	}
	as(loans, rows).refuses(t, "a token a second time", unauthenticated)
	if r := as("negotiate"+strings.TrimPrefix(token("nocreate", "HTTP/localhost"), "Negotiate"), rows); r.status != 200 || len(r.Rows[0]) != 2 {
		t.Errorf("of some columns: %d %s", r.status, r.body)
	}
	as(token("nocreate", "HTTP/localhost"), "/v1/orders/scan").refuses(t, "another job", forbidden)
	as(token("nobody", "HTTP/localhost"), rows).refuses(t, "who is no client", forbidden)
	as(token("loader", "hbase/localhost"), rows).refuses(t, "a ticket for another service", unauthenticated)
	as("Negotiate ????", rows).refuses(t, "no base64", unauthenticated)
	as("Negotiate TlRMTVNTUAABAAAA", rows).refuses(t, "NTLM", unauthenticated)
	if r := as("Bearer secret-of-web", rows); r.status != 200 {
		t.Errorf("a token beside: %d", r.status)
	}
	if n := strings.Count(log.String(), "ticket is refused"); n != 1 || !strings.Contains(log.String(), "it came before") {
		t.Errorf("%d warnings of callers' tickets:\n%s", n, log.String())
	}
	var who []string
	for line := range strings.Lines(lines.String()) {
		var l auditLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		who = append(who, fmt.Sprintf("%s|%s|%d", l.Client, strings.TrimSuffix(l.Principal, "@"+testcluster.Realm), l.Status))
	}
	if got, want := strings.Join(who, " "), "||401 loans|loader|200 ||401 web|nocreate|200 web|nocreate|403 |nobody|403 ||401 ||401 ||401 web||200"; got != want {
		t.Errorf("audit log:\n%s, want\n%s", got, want)
	}
	if r := as("Bearer secret-of-web", "/openapi.json"); !strings.Contains(r.body, `"scheme":"negotiate"`) || strings.Contains(r.body, "mutualTLS") {
		t.Errorf("%s", r.body)
	}

	t.Run("curl", func(t *testing.T) {
		if out, err := exec.CommandContext(t.Context(), "curl", "--version").Output(); err != nil || !bytes.Contains(out, []byte("SPNEGO")) {
			t.Skip("there is no curl with SPNEGO")
		}
		cache := "FILE:" + filepath.Join(t.TempDir(), "cache")
		if _, err := kdc.Kerberos(t.Context(), []string{"KRB5CCNAME=" + cache}, "kinit", "-k", "-t", kdc.Keytab("loader"), "loader"); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "curl", "--silent", "--noproxy", "*", "--negotiate", "--user", ":", "--write-out", "\n%{http_code}", address+rows, address+rows)
		cmd.Env = append(os.Environ(), "KRB5_CONFIG="+kdc.Krb5Conf(), "KRB5CCNAME="+cache)
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), `"check_id":"A"`) != 6 || strings.Count(string(out), "\n200") != 2 {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("JDK", func(t *testing.T) {
		if _, err := exec.LookPath("java"); err != nil {
			t.Skip(err)
		}
		cmd := exec.CommandContext(t.Context(), "java", "-Djava.security.krb5.conf="+kdc.Krb5Conf(), "testdata/Negotiate.java", address+rows, kdc.Keytab("loader"), testcluster.Principal("loader"))
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "200 true" {
			t.Errorf("%v %s", err, out)
		}
	})
	t.Run("another key", func(t *testing.T) {
		for _, query := range [][]string{{"cpw", "-randkey", "HTTP/localhost"}, {"ktadd", "-norandkey", "-k", s.o.Keytab, "HTTP/localhost"}} {
			if query[0] == "ktadd" {
				as(token("loader", "HTTP/localhost"), rows).refuses(t, "a key that the keytab has not", unauthenticated)
			}
			if _, err := kdc.Kerberos(t.Context(), nil, "kadmin.local", query...); err != nil {
				t.Fatal(err)
			}
		}
		if s.fingerprint() == s.loaded.Load().files {
			t.Error("another keytab is not seen")
		}
		if err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		if r := as(token("loader", "HTTP/localhost"), rows); r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
		if err := os.WriteFile(s.o.Keytab, []byte("\x05\x02\x00\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Reload(); err == nil || !strings.Contains(err.Error(), "keytab") {
			t.Errorf("a damaged keytab: %v", err)
		}
		if r := as(token("loader", "HTTP/localhost"), rows); r.status != 200 {
			t.Errorf("the keytab before is not in use any more: %d %s", r.status, r.body)
		}
	})
}

// TestPrincipals: what clients files say of principals wrongly.
func TestPrincipals(t *testing.T) {
	s := known(t, Options{})
	for text, want := range map[string]string{
		"clients: [{name: a, jobs: [check], principals: [ann@OURS.TEST]}]": "has no keytab of HTTP/HOST",
		"clients: [{name: a, jobs: [check], principals: [ann]}]":           `"ann" is not USER@REALM`,
		"clients: [{name: a, jobs: [check], principals: [a@R, a@R]}]":      "stands twice",
	} {
		if err := os.WriteFile(s.o.Clients, []byte(text), 0o600); err != nil {
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
