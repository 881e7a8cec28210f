package yarn

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/spnego"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"
	"bulkload/pkg/kerberos"
)

const (
	app     = "application_1795370865323_0001"
	job     = "job_1795370865323_0001"
	reduce  = "task_1795370865323_0001_r_000000"
	attempt = "attempt_1795370865323_0001_r_000000_0"
	holder  = "container_1795370865323_0001_01_000003"
)

// server responds by method and path, with 404 for unknown paths. Responses are those of Hadoop 3.4.3, some
// shortened.
func server(t *testing.T, answers map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.Method+" "+r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			text = `{"RemoteException":{"exception":"NotFoundException","message":"java.lang.Exception: not found","javaClassName":"x"}}`
		}
		if code, rest, ok := strings.Cut(text, "|"); ok && len(code) == 3 {
			var status int
			fmt.Sscan(code, &status)
			if status/100 == 3 {
				w.Header().Set("Location", rest)
			}
			w.WriteHeader(status)
			text = rest
		}
		io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	if o.User == "" && o.Kerberos == nil {
		o.User = "tester"
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const appJSON = `{"id":"` + app + `","user":"tester","name":"n","queue":"root.default","state":"FINISHED","finalStatus":"FAILED","progress":100.0,` +
	`"trackingUI":"History","trackingUrl":"http://h/p","diagnostics":"Task failed\n","clusterId":1795370865323,"applicationTags":"other,mytag",` +
	`"startedTime":1795370940595,"finishedTime":1795370973478,"elapsedTime":32883,"allocatedMB":-1,"allocatedVCores":-1,"runningContainers":-1,` +
	`"memorySeconds":26589,"vcoreSeconds":51,"resourceSecondsMap":{"entry":{"key":"memory-mb","value":"26589"},"entry":{"key":"vcores","value":"51"}}}`

func TestApplications(t *testing.T) {
	s := server(t, map[string]string{
		"GET /ws/v1/cluster/apps/" + app: `{"app":` + appJSON + `}`,
		"GET /ws/v1/cluster/apps":        `{"apps":{"app":[` + appJSON + `]}}`,
	})
	c := client(t, Options{Addresses: Addresses{ResourceManagers: []string{s.URL}}})
	a, err := c.Application(t.Context(), app)
	if err != nil || a.ID != app || !a.State.Ended() || a.Succeeded() || a.Final != Failed || a.Diagnostics != "Task failed" ||
		a.MemorySeconds != 26589 || len(a.Tags) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	for tag, want := range map[string]int{"mytag": 1, "tag": 0} {
		if got, err := c.ByTag(t.Context(), tag); err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", tag, got, err)
		}
	}
	if _, err := c.Application(t.Context(), "application_1_0001"); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"", "application_1", "../x", "application_1_1/state"} {
		if _, err := c.Application(t.Context(), bad); err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, tag := range []string{"", "Tag", "a,b", "a&user.name=x"} {
		if _, err := c.ByTag(t.Context(), tag); err == nil {
			t.Errorf("tag %q is accepted", tag)
		}
	}
}

// TestForgotten checks that only an active ResourceManager that was started after the application, and does not know it, has forgotten it.
func TestForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		info, app string
		forgotten bool
		want      error
	}{
		"started later":           {`{"clusterInfo":{"startedOn":1795370865324,"haState":"ACTIVE"}}`, "", true, nil},
		"the same start":          {`{"clusterInfo":{"startedOn":1795370865323,"haState":"ACTIVE"}}`, "", false, nil},
		"it has recovered it":     {`{"clusterInfo":{"startedOn":1795370865324,"haState":"ACTIVE"}}`, `{"app":` + appJSON + `}`, false, nil},
		"it recovers still":       {`{"clusterInfo":{"startedOn":1795370865324,"haState":"INITIALIZING"}}`, "", false, ErrUnreachable},
		"it says nothing":         {`{}`, "", false, ErrUnreachable},
		"no answer of the second": {`{"clusterInfo":{"startedOn":1795370865324,"haState":"ACTIVE"}}`, "500|", false, ErrUnreachable},
	} {
		answers := map[string]string{"GET /ws/v1/cluster/info": c.info}
		if c.app != "" {
			answers["GET /ws/v1/cluster/apps/"+app] = c.app
		}
		got, err := client(t, Options{Addresses: Addresses{ResourceManagers: []string{server(t, answers).URL}}}).Forgotten(t.Context(), app)
		if got != c.forgotten || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestNoApplications(t *testing.T) {
	for text, fine := range map[string]bool{`{"apps":{}}`: true, `{"apps":null}`: true, `{"apps":{"app":` + appJSON + `}}`: true, `{}`: false, `[]`: false, `<html>`: false, `{"apps":7}`: false} {
		s := server(t, map[string]string{"GET /ws/v1/cluster/apps": text})
		_, err := client(t, Options{Addresses: Addresses{ResourceManagers: []string{s.URL}}}).ByTag(t.Context(), "mytag")
		if (err == nil) != fine || err != nil && !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestKill checks the call that ends an application, and what the ResourceManager's exceptions mean. The web server knows no user, as with
// hadoop.http.authentication.type=simple on a cluster with Kerberos, and would refuse the request.
func TestKill(t *testing.T) {
	const yarnException = "org.apache.hadoop.yarn.exceptions.YarnException"
	denied := yarnException + ": java.security.AccessControlException: User tester cannot perform operation MODIFY_APP on " + app
	running := strings.Replace(appJSON, "FINISHED", "RUNNING", 1)
	for name, c := range map[string]struct {
		class, text, app string
		want             error
	}{
		"accepted":         {"", "", running, nil},
		"another's":        {yarnException, denied, running, ErrDenied},
		"ended, of myself": {yarnException, denied, appJSON, nil},
		"no right to call": {"org.apache.hadoop.security.authorize.AuthorizationException", "User tester is not authorized for protocol", running, ErrDenied},
		"unknown":          {"org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException", "Trying to kill an absent application " + app, running, ErrUnknown},
		"a fault":          {"java.io.IOException", "no space left", running, ErrUnreachable},
	} {
		s := server(t, map[string]string{"GET /ws/v1/cluster/apps/" + app: `{"app":` + c.app + `}`,
			"PUT /ws/v1/cluster/apps/" + app + "/state": "403|The default static user cannot carry out this operation."})
		var method string
		var id []byte
		calls := testcheck.Serve(t, func(nc net.Conn) {
			testdfs.Answer(nc, func(m string, request []byte) ([]byte, string, string) {
				method = m
				id, _ = frames.Bytes(request, 1)
				return frames.AppendNumber(nil, 1, 0), c.class, c.text
			})
		})
		o := Options{Addresses: Addresses{ResourceManagers: []string{s.URL, s.URL}, Calls: []string{testcheck.ClosedAddress(t), calls.Addr().String()}}}
		if err := client(t, o).Kill(t.Context(), app); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if method != "forceKillApplication" || frames.Number(id, 1) != 1 || frames.Number(id, 2) != 1795370865323 {
			t.Errorf("%s: %s of %x", name, method, id)
		}
	}
	o := Options{Addresses: Addresses{ResourceManagers: []string{"http://a:1"}, Calls: []string{testcheck.ClosedAddress(t)}}}
	if err := client(t, o).Kill(t.Context(), app); !errors.Is(err, ErrUnreachable) {
		t.Errorf("no ResourceManager: %v", err)
	}
}

// TestSeveralManagers checks that the active ResourceManager is found, and tried first from then on, and that a
// standby's redirect is not followed.
func TestSeveralManagers(t *testing.T) {
	asked := 0
	standby := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Location", "http://elsewhere.invalid"+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
		io.WriteString(w, "This is standby RM. The redirect url is: http://elsewhere.invalid/")
	}))
	defer standby.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	active := server(t, map[string]string{"GET /ws/v1/cluster/apps/" + app: `{"app":` + appJSON + `}`})
	c := client(t, Options{Addresses: Addresses{ResourceManagers: []string{dead.URL, standby.URL, active.URL}}})
	for range 3 {
		if _, err := c.Application(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("the standby was asked %d times", asked)
	}
	active.Close()
	_, err := c.Application(t.Context(), app)
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), standby.URL) || strings.Contains(err.Error(), "user.name") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("asked to stop")
	cancel(why)
	if _, err := c.Application(ctx, app); !errors.Is(err, why) || errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			w.Write(make([]byte, 1000))
		}
	}))
	defer s.Close()
	c := client(t, Options{Addresses: Addresses{ResourceManagers: []string{s.URL}}, MostAnswer: 10000})
	if _, err := c.Application(t.Context(), app); err == nil || !strings.Contains(err.Error(), "more than 10000 bytes") {
		t.Errorf("%v", err)
	}
	long := refusal("u", 400, []byte(strings.Repeat("a\x1b", 10000)))
	if len(long.Error()) > 2*maxWhy || strings.Contains(long.Error(), "\x1b") {
		t.Errorf("%q", long.Error())
	}
}

// fakeProof returns a token for one service, as a Kerberos client does.
type fakeProof struct{ service string }

func (f fakeProof) Initiate(_ context.Context, service, _ string) (*kerberos.Context, []byte, error) {
	if service != f.service {
		return nil, nil, kerberos.ErrUnknownService
	}
	return nil, []byte("token"), nil
}

// TestNegotiate checks that a server that requires a Kerberos token gets it, and that its cookie saves the next
// token.
func TestNegotiate(t *testing.T) {
	proofs := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("user.name") != "" {
			t.Error("a user's name where Kerberos proves it")
		}
		if c, err := r.Cookie("hadoop.auth"); err != nil || c.Value != "yes" {
			text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Negotiate ")
			if !ok {
				w.Header().Set("WWW-Authenticate", "Negotiate")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			proofs++
			raw, err := base64.StdEncoding.DecodeString(text)
			var token spnego.SPNEGOToken // gokrb5's implementation of RFC 4178
			if err == nil {
				err = token.Unmarshal(raw)
			}
			if err != nil || !token.Init || string(token.NegTokenInit.MechTokenBytes) != "token" {
				t.Errorf("%x: %v", raw, err)
			}
			http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: "yes", Path: "/"})
		}
		io.WriteString(w, `{"app":`+appJSON+`}`)
	}))
	defer s.Close()
	c := client(t, Options{Addresses: Addresses{ResourceManagers: []string{s.URL}}, Kerberos: fakeProof{"HTTP/127.0.0.1"}})
	for range 3 {
		if _, err := c.Application(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	}
	if proofs != 1 {
		t.Errorf("%d proofs", proofs)
	}
	c = client(t, Options{Addresses: Addresses{ResourceManagers: []string{s.URL}}, Kerberos: fakeProof{"HTTP/other"}})
	if _, err := c.Application(t.Context(), app); !errors.Is(err, kerberos.ErrUnknownService) {
		t.Errorf("%v", err)
	}
	for _, n := range []int{1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000} {
		var token spnego.SPNEGOToken
		if err := token.Unmarshal(kerberos.NegTokenInit(make([]byte, n))); err != nil || len(token.NegTokenInit.MechTokenBytes) != n {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestServiceOfCapitals checks that the service's host is in lower case, as in Hadoop's KerberosUtil.getServicePrincipal: MIT's KDC knows no other.
func TestServiceOfCapitals(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", "Negotiate")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"app":`+appJSON+`}`)
	}))
	defer s.Close()
	c := client(t, Options{Addresses: Addresses{ResourceManagers: []string{strings.Replace(s.URL, "127.0.0.1", "LocalHost", 1)}}, Kerberos: fakeProof{"HTTP/localhost"}})
	if _, err := c.Application(t.Context(), app); err != nil {
		t.Error(err)
	}
}

func TestWantsKerberos(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Negotiate")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	for name, o := range map[string]Options{"a name": {User: "x"}, "a ticket that is refused": {Kerberos: fakeProof{"HTTP/127.0.0.1"}}} {
		o.ResourceManagers = []string{s.URL}
		if _, err := client(t, o).Application(t.Context(), app); !errors.Is(err, ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
