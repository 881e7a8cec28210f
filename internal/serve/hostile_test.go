package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// hostile generates requests from pieces that are nearly valid: paths, parameters, bodies, headers, page tokens.
type hostile struct {
	*rand.Rand
	token string
}

func (h hostile) one(of ...string) string { return of[h.IntN(len(of))] }

func (h hostile) bytes(most int) string {
	b := make([]byte, h.IntN(most))
	for i := range b {
		b[i] = byte(h.IntN(256))
	}
	return string(b)
}

// changed returns a text with a byte changed, removed or inserted.
func (h hostile) changed(s string) string {
	if s == "" || h.IntN(3) > 0 {
		return s
	}
	at := h.IntN(len(s))
	switch h.IntN(3) {
	case 0:
		return s[:at]
	case 1:
		return s[:at] + string(rune(h.IntN(0x250))) + s[at:]
	}
	return s[:at] + string([]byte{byte(h.IntN(256))}) + s[at+1:]
}

func (h hostile) query() string {
	var pairs []string
	for range h.IntN(5) {
		name := h.one("check_id", "limit", "page", "columns", "from", "to", "prefix", "user", "", h.bytes(10))
		value := h.one("A", "B", "1", "0", "-1", "1e3", "999999999999999999999", h.changed(h.token), "id,text", ",", "a,b", `\x00`, `\`, "\x00", "\xff", h.bytes(40), strings.Repeat("A", h.IntN(500)))
		pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(value))
	}
	return h.changed(strings.Join(pairs, h.one("&", "&", ";")))
}

func (h hostile) body() string {
	if h.IntN(50) == 0 {
		return strings.Repeat(" ", h.IntN(400<<10))
	}
	return h.changed(h.one(`{"keys":[{"check_id":"A"}]}`, `{"keys":[{"check_id":{"base64":"QQ=="}}],"columns":["id"],"limit":3}`, `{"keys":`+strings.Repeat("[", h.IntN(5000)), "check_id=A&limit=5", "from=a&to=b",
		`{"keys":[`+strings.Repeat(`{"check_id":"A"},`, h.IntN(200))+`{"check_id":"B"}]}`, h.bytes(300)))
}

func (h hostile) path() string {
	return h.changed(h.one("/v1/check/rows", "/v1/check/scan", "/v1/check/rows:batch", "/v1/jobs", "/v1/orders/scan", "/search/check", "/search/orders", "/", "/docs", "/openapi.json", "/readyz", "/healthz", "/metrics",
		"/hbaseweb/get/check", "/testweb/list", "/v1/%2e%2e/rows", "/v1//rows", "//v1/check/rows", "/page.css", "/v1/"+url.PathEscape(h.bytes(20))+"/rows"))
}

// TestHostileRequests sends many requests that are wrong in one or many places: none causes an internal failure of the
// service or leaks memory.
func TestHostileRequests(t *testing.T) {
	requests := 100_000
	if race.Reduced(t) {
		requests = 10_000
	}
	s := known(t, Options{Compat: true, Audit: io.Discard, Limits: Limits{PerClient: 64}})
	first := s.as("secret-of-loans", "/v1/check/rows?check_id=A&limit=1")
	h := hostile{rand.New(rand.NewPCG(18, 18)), *first.Next}
	whole := s.answers.memory.free.Load()
	statuses := map[int]int{}
	var before, after runtime.MemStats
	for i := range requests {
		if i == requests/10 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
		r := httptest.NewRequest(h.one("GET", "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "X"), "/", strings.NewReader(h.body()))
		r.URL = &url.URL{Path: h.path(), RawQuery: h.query()}
		r.Host = h.one("example.com", "", h.bytes(30))
		r.Header.Set("Content-Type", h.one(jsonType, jsonType, "application/x-www-form-urlencoded", "text/plain", h.bytes(20)))
		switch h.IntN(4) {
		case 0:
			r.Header.Set("Authorization", h.one("Bearer ", "Basic ", "", h.bytes(5))+h.bytes(60))
		default:
			r.Header.Set("Authorization", "Bearer secret-of-"+h.one("loans", "loans", "loans", "web", "nobody"))
		}
		if i%997 == 0 { // random requests rarely are like this: valid except for the size
			r = httptest.NewRequest("POST", "/v1/check/rows:batch", strings.NewReader(strings.Repeat(" ", 300<<10)))
			r.Header.Set("Content-Type", jsonType)
			r.Header.Set("Authorization", "Bearer secret-of-loans")
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		statuses[w.Code]++
		if w.Code >= 500 && !(w.Code == 503 && r.URL.Path == "/readyz") {
			t.Fatalf("%s %q?%s: %d %s", r.Method, r.URL.Path, r.URL.RawQuery, w.Code, w.Body)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if in, _ := s.gate.load(); in != 0 || s.answers.memory.free.Load() != whole {
		t.Errorf("%d places and %d bytes are missing", in, whole-s.answers.memory.free.Load())
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	for _, status := range []int{200, 400, 401, 403, 404, 405, 413, 415} {
		if statuses[status] == 0 {
			t.Errorf("no request has %d: %v", status, statuses)
		}
	}
}

// TestHostileConnections sends bytes that are not HTTP, or headers without an end: each connection ends, and others get
// responses meanwhile.
func TestHostileConnections(t *testing.T) {
	s := checks(t, Options{Limits: Limits{Connections: 50, HeaderWait: time.Second, Deadline: 200 * time.Millisecond, Header: 8 << 10}}, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	h := hostile{rand.New(rand.NewPCG(1, 1)), ""}
	for i := range 300 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		text := h.one(h.bytes(500), "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", 20<<10)+"\r\n\r\n", "GET / HTTP/1.1\r\n", "POST /v1/check/rows:batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{",
			"GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n")
		_, _ = io.WriteString(c, text) // it may be closed already
		switch i % 3 {
		case 0:
			c.Close()
		default:
			defer c.Close()
		}
		if i%50 == 49 {
			// On a machine that is busy for the time limit of a header, the service closes this connection too.
			testcheck.Eventually(t, time.Minute, "another caller is answered", func() (bool, any) {
				a, err := net.Dial("tcp", l.Addr().String())
				testcheck.Must(t, err)
				defer a.Close()
				fmt.Fprintf(a, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				line, err := bufio.NewReader(a).ReadString('\n')
				return err == nil && strings.Contains(line, "200"), fmt.Sprintf("%q, %v", line, err)
			})
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
