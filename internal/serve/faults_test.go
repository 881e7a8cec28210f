package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/loader"
)

func remote(class string) error {
	return fmt.Errorf("scan check: %w", &loader.RemoteError{Class: "org.apache.hadoop.hbase." + class, Message: "secret-host"})
}

// TestFailures checks that an error at any row is a problem, without the rows before it.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want kind
	}{
		{"a region is away", remote("NotServingRegionException"), unavailable},
		{"a connection breaks", &loader.ConnectionError{Addr: "secret-host:1", Sent: true, Err: errors.New("reset")}, unavailable},
		{"no rights", remote("AccessDeniedException"), tableUnfit},
		{"no such family", remote("NoSuchColumnFamilyException"), tableUnfit},
		{"no such table", fmt.Errorf("x: %w", loader.ErrTableNotFound), noTable},
		{"closed", loader.ErrClosed, unavailable},
		{"a ticket that has expired", fmt.Errorf("scan check: %w", kerberos.ErrExpired), unavailable},
	} {
		for row := range 3 {
			s := checks(t, Options{Compat: true}, 3)
			s.fake.onRow = func(n int, _ []byte) error {
				if n == row {
					return c.err
				}
				return nil
			}
			r := s.get("/v1/check/rows?check_id=A")
			r.refuses(t, c.name, c.want)
			if strings.Contains(r.body, "secret") || strings.Contains(r.body, "xx") {
				t.Errorf("%s: %s", c.name, r.body)
			}
			s.get("/v1/check/scan").refuses(t, c.name+", scan", c.want)
			s.post("/v1/check/rows:batch", `{"keys":[{"check_id":"A"}]}`).refuses(t, c.name+", batch", c.want)
			if r := s.get("/hbaseweb/get/check?check_id=A"); r.status != 200 || r.body != compatFailed {
				t.Errorf("%s, compat: %d %s", c.name, r.status, r.body)
			}
		}
	}
}

// TestRegionsChange checks that all rows are read again if the table's regions change meanwhile.
func TestRegionsChange(t *testing.T) {
	s := checks(t, Options{}, 5)
	generation := uint64(1)
	s.fake.onRow = func(n int, _ []byte) error {
		if n == 3 && generation < 3 { // the table is replaced by one with other rows
			generation++
			s.fake.mu.Lock()
			s.fake.rows = nil
			s.fake.mu.Unlock()
			for i := range 7 {
				s.fake.put(t, checkKey, 10, "id", fmt.Sprintf("%d-%d", generation, i), "check_id", "A", "text", "")
			}
			s.fake.salted(10, generation)
		}
		return nil
	}
	if r := s.get("/v1/check/rows?check_id=A"); r.ids() != "3-0 3-1 3-2 3-3 3-4 3-5 3-6" || r.Next != nil {
		t.Errorf("%d %s", r.status, r.body)
	}
	s.fake.onRow = func(int, []byte) error { generation++; s.fake.salted(10, generation); return nil }
	s.get("/v1/check/rows?check_id=A").refuses(t, "regions that change without end", unavailable)
	// A region that moves is not a change.
	s.fake.onRow = func(int, []byte) error {
		s.fake.mu.Lock()
		defer s.fake.mu.Unlock()
		moved := append([]loader.Region{}, s.fake.regions...)
		moved[0].Server = "rs:2"
		s.fake.regions = moved
		return nil
	}
	scans := s.fake.scans
	if r := s.get("/v1/check/rows?check_id=A"); r.status != 200 || s.fake.scans != scans+1 {
		t.Errorf("%d after %d scans", r.status, s.fake.scans-scans)
	}
}

// TestSaltsChange checks that rows are not searched under salts that may be wrong.
func TestSaltsChange(t *testing.T) {
	s := checks(t, Options{}, 2)
	if r := s.get("/v1/check/rows?check_id=A"); r.ids() != "0000 0001" {
		t.Fatal(r.body)
	}
	s.fake.salted(7, 2)
	s.get("/v1/check/rows?check_id=A").refuses(t, "another number of salts", tableChanged)
	if r := s.get("/v1/orders/scan"); r.status != 200 { // its salts are in its key
		t.Errorf("%s", r.body)
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	s.get("/v1/check/rows?check_id=A").refuses(t, "rows that have the salts of before", tableUnfit)
	s.fake.rows = nil
	s.fake.put(t, checkKey, 7, "id", "0000", "check_id", "A")
	s.probe(t.Context(), s.resources().byName["check"])
	if r := s.get("/v1/check/rows?check_id=A"); r.ids() != "0000" {
		t.Errorf("after the table was written for them: %s", r.body)
	}
	s.fake.regions = []loader.Region{{Name: []byte("one"), End: []byte("m")}, {Name: []byte("two"), Start: []byte("m")}}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	s.get("/v1/check/rows?check_id=A").refuses(t, "a table that shows no modulus", tableUnfit)
}

// TestSaltsGoWhileReading merges two regions while an answer is made, so that the table shows no number of salts any more: the answer is a problem of the
// table, on every route, and never an empty list.
func TestSaltsGoWhileReading(t *testing.T) {
	s := open(t, Options{Compat: true}, map[string]string{"check": checkJob})
	s.fake.put(t, checkKey, 10, "id", "0000", "check_id", "A")
	merge := func(context.Context) {
		s.fake.mu.Lock()
		defer s.fake.mu.Unlock()
		if regions := s.fake.regions; len(regions) == 10 {
			joined := loader.Region{Name: []byte("joined"), Start: regions[4].Start, End: regions[5].End}
			s.fake.regions = slices.Concat(regions[:4], []loader.Region{joined}, regions[6:])
		}
	}
	for path, get := range map[string]func(path string) reply{
		"/v1/check/rows?check_id=A": s.get,
		"/v1/check/scan":            s.get,
		"/v1/check/rows:batch":      func(path string) reply { return s.post(path, `{"keys":[{"check_id":"A"}]}`) },
	} {
		s.fake.onScan = nil
		s.fake.salted(10, 1)
		if r := get(path); r.status != 200 || !strings.Contains(r.body, "0000") {
			t.Fatalf("%s: %d %s", path, r.status, r.body)
		}
		s.fake.onRow = func(int, []byte) error { merge(t.Context()); return nil }
		get(path).refuses(t, path, tableChanged)
		s.fake.onRow = nil
	}
	s.fake.salted(10, 1)
	s.fake.onScan = merge
	for range 2 {
		if r := s.get("/hbaseweb/get/check?check_id=A"); r.body != compatFailed {
			t.Errorf("%s", r.body)
		}
	}
}

// TestSaltsStayUnfit checks that rows that a probe has found under other salts are refused until a check finds them right, also when the probes after
// that one do not get through: an empty list would be wrong.
func TestSaltsStayUnfit(t *testing.T) {
	s := checks(t, Options{}, 1)
	check := s.resources().byName["check"]
	s.probe(t.Context(), check)
	if r := s.get("/v1/check/rows?check_id=A"); r.ids() != "0000" {
		t.Fatal(r.body)
	}
	s.fake.rows = nil
	for _, id := range []string{"A", "B", "C"} {
		s.fake.put(t, checkKey, 7, "id", "0000", "check_id", id)
	}
	s.fake.salted(10, 2)
	s.probe(t.Context(), check)
	s.get("/v1/check/rows?check_id=A").refuses(t, "rows with other salts", tableUnfit)
	s.fake.err = remote("CallQueueTooBigException")
	s.probe(t.Context(), check)
	s.fake.err = nil
	for _, id := range []string{"A", "B", "C"} {
		s.get("/v1/check/rows?check_id="+id).refuses(t, "after a probe that failed", tableUnfit)
	}
}

// TestSaltsOfAnEmptyTable checks that a check that saw no row does not count: rows that are loaded later, or after a truncate, are compared.
func TestSaltsOfAnEmptyTable(t *testing.T) {
	s := open(t, Options{}, map[string]string{"check": checkJob})
	check := s.resources().byName["check"]
	check.fit.checked.Store(false)
	for _, when := range []string{"before the first load", "after a truncate"} {
		s.fake.rows = nil
		s.fake.salted(10, 2)
		s.probe(t.Context(), check)
		if r := s.get("/v1/check/rows?check_id=A"); r.status != 200 || r.ids() != "" {
			t.Errorf("%s: %d %s", when, r.status, r.body)
		}
		for _, id := range []string{"A", "B", "C"} {
			s.fake.put(t, checkKey, 7, "id", "0000", "check_id", id)
		}
		for _, id := range []string{"A", "B", "C"} {
			s.get("/v1/check/rows?check_id="+id).refuses(t, when, tableUnfit)
		}
		s.fake.rows = nil
		s.fake.put(t, checkKey, 10, "id", "0000", "check_id", "A")
		s.probe(t.Context(), check)
		if r := s.get("/v1/check/rows?check_id=A"); r.ids() != "0000" {
			t.Errorf("%s, the right salts: %s", when, r.body)
		}
		scans := s.fake.scans
		if s.get("/v1/check/rows?check_id=A"); s.fake.scans != scans+1 {
			t.Errorf("%s: salts that are right are compared again", when)
		}
	}
}

// TestDeadline checks that a slow request gets a 504 at the deadline, and that its scan ends.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := checks(t, Options{Limits: Limits{Deadline: 3 * time.Second}}, 5)
		s.fake.onScan = func(ctx context.Context) { <-ctx.Done() }
		began := time.Now()
		s.get("/v1/check/rows?check_id=A").refuses(t, "a scan without end", timedOut)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %s", took)
		}
		ended := false
		s.fake.onScan = func(ctx context.Context) { <-ctx.Done(); ended = true }
		r := httptest.NewRequest("GET", "/v1/check/rows?check_id=A", nil)
		ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
		defer hangUp()
		began = time.Now()
		s.do(r.WithContext(ctx))
		if took := time.Since(began); took != time.Second || !ended {
			t.Errorf("a caller that hangs up: %s, ended %t", took, ended)
		}
	})
}

// TestTableStates checks that the probes' result for a table is returned at once, while other tables are read.
func TestTableStates(t *testing.T) {
	s := checks(t, Options{}, 1)
	if r := s.get("/readyz"); r.status != 503 {
		t.Errorf("before the first probe: %d", r.status)
	}
	s.probeAll(t.Context())
	if r := s.get("/readyz"); r.status != 200 || !strings.Contains(r.body, `"status":"ready"`) {
		t.Errorf("%s", r.body)
	}
	s.fake.state, s.fake.err = loader.Disabled, remote("NotServingRegionException")
	s.get("/v1/check/rows?check_id=A").refuses(t, "before the probe", unavailable)
	s.probeAll(t.Context())
	scans := s.fake.scans
	s.get("/v1/check/rows?check_id=A").refuses(t, "a disabled table", tableDisabled)
	if s.fake.scans != scans {
		t.Error("a disabled table was read")
	}
	if r := s.get("/readyz"); r.status != 503 || !strings.Contains(r.body, "table-disabled") || r.header.Get("Retry-After") == "" {
		t.Errorf("no table is ready: %d %s", r.status, r.body)
	}
	s.resources().byName["orders"].state.Store(&tableState{})
	if r := s.get("/readyz"); r.status != 200 {
		t.Errorf("one of two is ready: %d %s", r.status, r.body)
	}
	s.fake.state, s.fake.err = loader.Enabled, nil
	s.probeAll(t.Context())
	if r := s.get("/v1/check/rows?check_id=A"); r.status != 200 {
		t.Errorf("in service again: %s", r.body)
	}
	s.fake.missing = true
	s.get("/v1/check/rows?check_id=A").refuses(t, "a missing table", noTable)
}

// TestNotDialed checks that the service runs without HBase, and refuses requests.
func TestNotDialed(t *testing.T) {
	s := checks(t, Options{}, 1)
	s.held.cluster = nil
	s.probeAll(t.Context())
	s.get("/v1/check/rows?check_id=A").refuses(t, "rows", unavailable)
	if r := s.get("/readyz"); r.status != 503 {
		t.Errorf("ready: %s", r.body)
	}
	if r := s.get("/healthz"); r.status != 200 {
		t.Errorf("health: %s", r.body)
	}
}

// TestDialing checks that HBase is dialed until it is found, and closed at the end.
func TestDialing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := checks(t, Options{}, 1)
		s.held.cluster = nil
		tries := 0
		s.held.dial = func(context.Context) (Cluster, error) {
			if tries++; tries < 4 {
				return nil, errors.New("no route")
			}
			return s.fake, nil
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.held.run(ctx); close(ended) }()
		<-time.After(time.Minute) // of the bubble: until all others wait
		if _, err := s.held.get(); err != nil || tries != 4 {
			t.Errorf("%v after %d tries", err, tries)
		}
		stop()
		<-ended
		if _, err := s.held.get(); !errors.Is(err, loader.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestWrongConfiguration checks that a configuration that names no cluster ends the service, and that a cluster that does not answer yet does not.
func TestWrongConfiguration(t *testing.T) {
	for kind, tries := range map[fail.Kind]int{fail.Config: 1, fail.Load: 3} {
		s := checks(t, Options{ProbeEvery: time.Hour}, 1)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		dialed := 0
		s.held.cluster, s.held.dial = nil, func(context.Context) (Cluster, error) {
			if dialed++; dialed == 3 {
				stop()
			}
			return nil, fail.Errorf(kind, "HBase's ZooKeeper is unknown")
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testcheck.Must(t, err)
		err = s.Serve(ctx, l)
		if wrong := kind == fail.Config; dialed != tries || wrong != (fail.KindOf(err) == fail.Config) || wrong == (err == nil) {
			t.Errorf("%s: dialed %d times: %v", kind, dialed, err)
		}
	}
}

// TestProbesOfLargeRows checks that a probe reads one row, and of a large row no more than shows that it can be read; so do checks of salts.
func TestProbesOfLargeRows(t *testing.T) {
	s := checks(t, Options{}, 3)
	var given, largest int64
	s.fake.onGiven = func(size int64) { given++; largest = max(largest, size) }
	check := s.resources().byName["check"]
	for _, size := range []int{0, 1 << 20} {
		for i := range s.fake.rows {
			for at := range s.fake.rows[i].Cells {
				s.fake.rows[i].Cells[at].Value = append(s.fake.rows[i].Cells[at].Value, make([]byte, size)...)
			}
		}
		s.fake.salted(10, uint64(2+size)) // so that the salts are compared
		s.probe(t.Context(), check)
		if st := check.state.Load(); st == nil || st.problem != nil {
			t.Fatalf("rows of %d bytes: %+v", size, st)
		}
		given = 0
		s.probe(t.Context(), check)
		if st := check.state.Load(); st.problem != nil || given > 1 || size == 0 && given == 0 {
			t.Errorf("rows of %d bytes: %d rows, %+v", size, given, st)
		}
	}
	if largest > 64<<10 {
		t.Errorf("a row of %d bytes was read", largest)
	}
}
