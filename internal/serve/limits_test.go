package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"
)

func TestLimitsValidate(t *testing.T) {
	if err := (Limits{}).WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
	for _, l := range []Limits{{Rows: -1}, {Deadline: -1}, {Memory: 1 << 20}, {InFlight: 1 << 21}, {DrainDelay: -1}, {Bytes: 1 << 40}} {
		if err := l.WithDefaults().Validate(); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
}

// TestAnswerBytes checks the size limit of an answer: its page ends early, and the pages have each row once.
func TestAnswerBytes(t *testing.T) {
	s := checks(t, Options{Limits: Limits{Bytes: 3 << 10}}, 50)
	var all []string
	pages := 0
	for page := ""; ; pages++ {
		r := s.get("/v1/check/rows?check_id=A" + page)
		if r.status != 200 || len(r.body) > 3<<10 {
			t.Fatalf("%d, %d bytes", r.status, len(r.body))
		}
		all = append(all, r.ids())
		if r.Next == nil {
			break
		}
		page = "&page=" + *r.Next
	}
	if got := strings.Fields(strings.Join(all, " ")); len(got) != 50 || got[0] != "0000" || got[49] != "0049" || pages < 1 {
		t.Errorf("%d rows on %d pages", len(got), pages)
	}
	s.fake.put(t, checkKey, 10, "id", "9999", "check_id", "Z", "text", strings.Repeat("x", 3<<10))
	s.fake.put(t, checkKey, 10, "id", "0001", "check_id", "Z", "text", "x")
	if r := s.get("/v1/check/rows?check_id=Z"); r.status != 200 || r.ids() != "0001" || r.Next == nil {
		t.Errorf("a page before a row that is too large: %d %s", r.status, r.body)
	} else {
		s.get("/v1/check/rows?check_id=Z&page="+*r.Next).refuses(t, "the next page", answerTooLarge)
	}
	s.fake.put(t, checkKey, 10, "id", "big", "check_id", "big", "text", strings.Repeat("x", 3<<10))
	s.get("/v1/check/rows?check_id=big").refuses(t, "a row that is too large", answerTooLarge)
	if r := s.get("/v1/check/rows?check_id=big&columns=id"); r.ids() != "big" {
		t.Errorf("without its text: %s", r.body)
	}
	s.fake.put(t, checkKey, 10, "id", "escapes", "check_id", "escapes", "text", strings.Repeat("\x01", 1<<10))
	s.get("/v1/check/rows?check_id=escapes").refuses(t, "a row that is too large by its escapes", answerTooLarge)
	// A batch whose answer is full has a problem for each of the remaining keys.
	r := s.post("/v1/check/rows:batch", `{"keys":[{"check_id":"A"},{"check_id":"B"},{"check_id":"none"}]}`)
	if r.status != 200 || strings.Count(r.body, "the answer is full") != 2 || strings.Contains(r.body, `"rows":[]`) {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestBatchWithARowThatIsTooLarge checks that in a batch a row that is too large is a problem of its own key: the keys after it have their rows, and
// are not called those that no longer fit.
func TestBatchWithARowThatIsTooLarge(t *testing.T) {
	for _, reads := range []int{1, 8} {
		s := checks(t, Options{Limits: Limits{Bytes: 3 << 10, BatchReads: reads}}, 50)
		s.fake.put(t, checkKey, 10, "id", "big", "check_id", "big", "text", strings.Repeat("x", 3<<10))
		for _, first := range []string{"none", "A"} {
			r := s.post("/v1/check/rows:batch", fmt.Sprintf(`{"keys":[{"check_id":%q},{"check_id":"big"},{"check_id":"B"},{"check_id":"big"}],"limit":1}`, first))
			var out struct {
				Results []struct {
					Rows    []map[string]any
					Problem *Problem
				}
			}
			if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != http.StatusOK || len(out.Results) != 4 {
				t.Fatalf("%v %d %s", err, r.status, r.body)
			}
			for i, rows := range []int{map[string]int{"A": 1}[first], 0, 1, 0} {
				result := out.Results[i]
				large := i%2 == 1
				if len(result.Rows) != rows || large != (result.Problem != nil) || large && !strings.Contains(result.Problem.Detail, "name fewer columns") {
					t.Errorf("%d reads, first %s: result %d of %s", reads, first, i, r.body)
				}
			}
		}
	}
}

// TestMemory checks that answers share a budget, that a request without memory is refused, and that all memory is
// returned.
func TestMemory(t *testing.T) {
	s := checks(t, Options{Limits: Limits{InFlight: 4, ScanMemory: 256 << 10, Bytes: 40 << 10, Body: 1 << 10, Memory: (4*256)<<10 + 42<<10}}, 200)
	whole := s.answers.memory.free.Load()
	if whole != 42<<10 {
		t.Fatalf("%d bytes for answers", whole)
	}
	if !s.answers.memory.take(whole - 20<<10) {
		t.Fatal("no memory")
	}
	r := s.get("/v1/check/rows?check_id=A&limit=200")
	if r.status != 200 || r.Next == nil || len(r.body) > 20<<10 || len(r.Rows) == 0 {
		t.Errorf("a page that ends early: %d, %d bytes", r.status, len(r.body))
	}
	s.answers.memory.force(15 << 10)
	s.get("/v1/check/rows?check_id=A").refuses(t, "no memory", overloaded)
	s.post("/v1/check/rows:batch", strings.Repeat("x", 1<<10)).refuses(t, "no memory for a body", badBody)
	s.answers.memory.force(4 << 10)
	s.post("/v1/check/rows:batch", strings.Repeat("x", 1<<10)).refuses(t, "no memory for a body", overloaded)
	s.answers.memory.force(20<<10 - whole - 19<<10)
	if free := s.answers.memory.free.Load(); free != whole {
		t.Errorf("%d bytes are missing", whole-free)
	}
}

// stalled is a client that neither receives its response nor sends its body until a channel is closed.
type stalled struct {
	http.ResponseWriter
	begun func()
	until chan struct{}
}

func (c stalled) Write(b []byte) (int, error) {
	c.begun()
	<-c.until
	return len(b), nil
}

func (c stalled) Read([]byte) (int, error) {
	c.begun()
	<-c.until
	return 0, io.ErrUnexpectedEOF
}

// TestStalledClientLeavesMemory checks that a client that receives or sends slowly takes no more than its part of the memory: another client is
// answered.
func TestStalledClientLeavesMemory(t *testing.T) {
	s := checks(t, Options{Limits: Limits{InFlight: 4, ScanMemory: 256 << 10, Bytes: 40 << 10, Body: 1 << 10, Memory: (4*256)<<10 + 100<<10}}, 1)
	whole := s.answers.memory.free.Load()
	s.fake.put(t, checkKey, 10, "id", "0001", "check_id", "Z", "text", strings.Repeat("x", 30<<10))
	for _, body := range []bool{false, true} {
		var ended sync.WaitGroup
		until := make(chan struct{})
		for range 60 {
			begun := make(chan struct{})
			c := stalled{httptest.NewRecorder(), sync.OnceFunc(func() { close(begun) }), until}
			r := httptest.NewRequest("GET", "/v1/check/rows?check_id=Z", nil)
			if body {
				r = httptest.NewRequest("POST", "/v1/check/rows:batch", c)
				r.Header.Set("Content-Type", "application/json")
			}
			r.RemoteAddr = "192.0.2.7:1"
			ended.Go(func() { s.Handler().ServeHTTP(c, r) })
			<-begun
		}
		if r := s.get("/v1/check/rows?check_id=Z"); r.status != 200 || r.ids() != "0001" {
			t.Errorf("with bodies %t: another client is refused: %s", body, r.body)
		}
		close(until)
		ended.Wait()
		if free := s.answers.memory.free.Load(); free != whole {
			t.Errorf("%d bytes are missing", whole-free)
		}
		if n := len(s.answers.memory.clients); n > 0 {
			t.Errorf("%d clients still have memory", n)
		}
	}
}

// TestGate checks the limits of concurrent requests, in total and for each client, and of the queue and its waiting
// time.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limits{InFlight: 3, PerClient: 2, Queue: 2, QueueWait: time.Second})
		enter := func(client string) error { return g.enter(t.Context(), &caller{address: client}) }
		for _, client := range []string{"a", "a", "b"} {
			if err := enter(client); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if p := asProblem(enter("a")); p == nil || !p.is(tooManyRequests) || time.Since(began) != time.Second {
			t.Errorf("a third of a: %v after %s", p, time.Since(began))
		}
		var order []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, client := range []string{"a", "c"} {
			wg.Go(func() {
				if err := enter(client); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, client)
			})
			synctest.Wait()
		}
		if p := asProblem(enter("d")); p == nil || !p.is(tooManyRequests) {
			t.Error("the queue has no end")
		}
		g.leave(&caller{address: "b"}) // a waits before c, but already has its two places
		synctest.Wait()
		g.leave(&caller{address: "a"})
		wg.Wait()
		if fmt.Sprint(order) != "[c a]" {
			t.Errorf("order %v", order)
		}
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if err := g.enter(ctx, &caller{address: "e"}); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
		synctest.Wait()
		cancel()
		wg.Wait()
		for _, client := range []string{"a", "a", "c"} {
			g.leave(&caller{address: client})
		}
		if g.in != 0 || len(g.clients) != 0 || len(g.waiting) != 0 {
			t.Errorf("%d in, clients %v, %d wait", g.in, g.clients, len(g.waiting))
		}
	})
}

// TestTooMany checks that requests beyond the limits get 429, and that running requests get their responses.
func TestTooMany(t *testing.T) {
	s := checks(t, Options{Limits: Limits{InFlight: 1, Queue: -1}}, 1)
	entered, leave := make(chan struct{}), make(chan struct{})
	s.fake.onScan = func(context.Context) { close(entered); <-leave }
	first := make(chan reply)
	go func() { first <- s.get("/v1/check/rows?check_id=A") }()
	<-entered
	s.get("/v1/check/rows?check_id=A").refuses(t, "the second of two", tooManyRequests)
	if r := s.get("/healthz"); r.status != 200 {
		t.Errorf("health while all places are taken: %d", r.status)
	}
	close(leave)
	if r := <-first; r.status != 200 || r.ids() != "0000" {
		t.Errorf("the first: %s", r.body)
	}
}

// serve runs the service on a new listener until stop is called, which returns the result of Serve.
func (s *service) serve(t *testing.T) (address string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	testcheck.Eventually(t, time.Minute, "the first probe is over", func() (bool, any) { // the next probe is far away
		r := s.get("/readyz")
		return r.status == 200, r.body
	})
	return l.Addr().String(), stop
}

// TestDrain checks that a running request gets its response, and that later ones find no server.
func TestDrain(t *testing.T) {
	s := checks(t, Options{ProbeEvery: time.Hour}, 1)
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	address, stop := s.serve(t)
	s.fake.mu.Lock()
	s.fake.onScan = func(context.Context) { entered <- struct{}{}; <-leave }
	s.fake.mu.Unlock()
	answered := make(chan string)
	go func() {
		r, err := http.Get("http://" + address + "/v1/check/rows?check_id=A")
		if err != nil {
			answered <- err.Error()
			return
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		answered <- string(b)
	}()
	<-entered
	ended := make(chan error)
	go func() { ended <- stop() }()
	testcheck.Eventually(t, time.Minute, "it drains", func() (bool, any) { return s.draining.Load(), nil })
	if r := s.get("/readyz"); r.status != 503 || !strings.Contains(r.body, "draining") {
		t.Errorf("ready while it drains: %s", r.body)
	}
	close(leave)
	if body := <-answered; !strings.Contains(body, `"id":"0000"`) {
		t.Errorf("the request under way: %s", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + address + "/healthz"); err == nil {
		t.Error("it answers after its end")
	}
}

// TestDrainEnds checks that a slower request is cut off, and that this is reported.
func TestDrainEnds(t *testing.T) {
	s := checks(t, Options{ProbeEvery: time.Hour, Limits: Limits{Drain: time.Millisecond, Deadline: time.Hour}}, 1)
	entered := make(chan struct{}, 100)
	address, stop := s.serve(t)
	s.fake.mu.Lock()
	s.fake.onScan = func(ctx context.Context) { entered <- struct{}{}; <-ctx.Done() }
	s.fake.mu.Unlock()
	failed := make(chan error)
	go func() {
		r, err := http.Get("http://" + address + "/v1/check/rows?check_id=A")
		if err == nil {
			r.Body.Close()
		}
		failed <- err
	}()
	<-entered
	if err := stop(); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the end: %v", err)
	}
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
}

// TestSlowHeader checks that a connection whose header does not end is closed, while a connection beyond the limit
// waits for it.
func TestSlowHeader(t *testing.T) {
	s := checks(t, Options{Limits: Limits{Connections: 1, HeaderWait: 50 * time.Millisecond, Header: 4 << 10}}, 1)
	address, _ := s.serve(t)
	slow, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprint(slow, "GET /healthz HTTP/1.1\r\nHost: x\r\n")
	// It is accepted when the slow one is closed. On a machine that is busy for the time limit of a header, the
	// service closes this one too.
	testcheck.Eventually(t, time.Minute, "another connection is served", func() (bool, any) {
		r, err := http.Get("http://" + address + "/healthz")
		if err == nil {
			r.Body.Close()
		}
		return err == nil, err
	})
	if _, err := bufio.NewReader(slow).ReadString('\n'); err == nil {
		t.Log("the slow one was answered before it was closed")
	}
	http.DefaultClient.CloseIdleConnections()
	testcheck.Eventually(t, time.Minute, "a large header is refused", func() (bool, any) {
		large := httptest.NewRequest("GET", "http://"+address+"/healthz", nil)
		large.RequestURI = ""
		large.Header.Set("X", strings.Repeat("x", 20<<10))
		r, err := http.DefaultClient.Do(large)
		if err != nil {
			return false, err
		}
		r.Body.Close()
		if r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a large header: %d", r.StatusCode)
		}
		return true, nil
	})
	http.DefaultClient.CloseIdleConnections()
}

// TestIdleConnections checks that a client that only holds connections does not block others, and that a connection
// with a running request is kept.
func TestIdleConnections(t *testing.T) {
	s := checks(t, Options{ProbeEvery: time.Hour, Limits: Limits{Connections: 3}}, 1)
	address, _ := s.serve(t)
	ask := func(path string) (net.Conn, *bufio.Reader) {
		t.Helper()
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		return c, bufio.NewReader(c)
	}
	answered := func(r *bufio.Reader) {
		t.Helper()
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		if answer.StatusCode != 200 {
			t.Errorf("status %d", answer.StatusCode)
		}
	}
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	s.fake.mu.Lock()
	s.fake.onScan = func(context.Context) { entered <- struct{}{}; <-leave }
	s.fake.mu.Unlock()
	_, busy := ask("/v1/check/rows?check_id=A")
	<-entered
	for range 20 { // each stays connected
		_, r := ask("/healthz")
		answered(r)
	}
	close(leave)
	answered(busy)
}
