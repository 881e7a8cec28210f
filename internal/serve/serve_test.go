package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// fake is a table in memory, instead of a cluster, for faults that a real one does not have at a chosen moment.
type fake struct {
	mu      sync.Mutex
	rows    []loader.Row // by key
	regions []loader.Region
	state   loader.TableState
	missing bool
	err     error                       // returned by every scan
	onScan  func(ctx context.Context)   // called before a scan of a request; scans of probes begin with a salt only, or without a start row
	onRow   func(n int, k []byte) error // called before a scan returns its n-th row
	onGiven func(size int64)            // called with the size of each row that a scan returns
	scans   int
}

func (f *fake) Close() error { return nil }

func (f *fake) KnownRegions(context.Context, loader.TableName) ([]loader.Region, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missing {
		return nil, fmt.Errorf("read the regions: %w", loader.ErrTableNotFound)
	}
	return f.regions, nil
}

func (f *fake) Regions(ctx context.Context, table loader.TableName) ([]loader.Region, error) {
	return f.KnownRegions(ctx, table)
}

func (f *fake) Describe(context.Context, loader.TableName) (*loader.Table, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missing {
		return nil, loader.ErrTableNotFound
	}
	return &loader.Table{State: f.state}, nil
}

func (f *fake) Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error {
	f.mu.Lock()
	f.scans++
	rows, onScan, onRow, onGiven, err := f.rows, f.onScan, f.onRow, f.onGiven, f.err
	if req.Row != nil {
		req.Start, req.Stop = req.Row, loader.After(req.Row)
	}
	f.mu.Unlock()
	if onScan != nil && len(req.Start) > 1 {
		onScan(ctx)
	}
	if err != nil {
		return err
	}
	given := int64(0)
	for _, r := range rows {
		if bytes.Compare(r.Key, req.Start) < 0 || len(req.Stop) > 0 && bytes.Compare(r.Key, req.Stop) >= 0 {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		out := loader.Row{Key: r.Key}
		size := int64(len(r.Key))
		for _, c := range r.Cells {
			wanted := len(req.Columns) == 0 && slices.Contains(req.Families, string(c.Family)) || slices.ContainsFunc(req.Columns, func(x loader.Column) bool {
				return x.Family == string(c.Family) && string(x.Qualifier) == string(c.Qualifier)
			})
			if wanted {
				out.Cells = append(out.Cells, c)
				size += int64(len(c.Family) + len(c.Qualifier) + len(c.Value))
			}
		}
		if req.RowBytes > 0 && size > req.RowBytes {
			return fmt.Errorf("scan t: %w", &loader.RowTooLargeError{Key: bytes.Clone(r.Key), Most: req.RowBytes})
		}
		if len(out.Cells) == 0 {
			continue
		}
		if onRow != nil {
			if err := onRow(int(given), r.Key); err != nil {
				return err
			}
		}
		given++
		if onGiven != nil {
			onGiven(size)
		}
		if err := fn(out); err != nil {
			return err
		}
		if given == req.MaxRows {
			return nil
		}
	}
	return nil
}

// salted gives the table the regions of n salts, as a new generation.
func (f *fake) salted(n int, generation uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	start := []byte{}
	f.regions = nil
	for _, end := range append(partition.SaltSplits(n), nil) {
		f.regions = append(f.regions, loader.Region{Name: fmt.Appendf(nil, "t,%s,%d.x.", start, generation), Encoded: "x", Start: start, End: end, Server: "rs:1", ID: generation})
		start = end
	}
}

// put adds a row whose columns are texts.
func (f *fake) put(t testing.TB, key string, salts int, pairs ...string) {
	t.Helper()
	e, err := keygen.Parse(key)
	if err != nil {
		t.Fatal(err)
	}
	p, err := keygen.Compile(e, keygen.Options{Regions: salts})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	var row loader.Row
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
		row.Cells = append(row.Cells, loader.Cell{Family: []byte("f"), Qualifier: []byte(pairs[i]), Value: []byte(pairs[i+1])})
	}
	slices.SortFunc(row.Cells, func(a, b loader.Cell) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
	var fields [][]byte
	for _, c := range p.Columns() {
		fields = append(fields, []byte(values[c]))
	}
	if row.Key, err = p.Append(nil, fields); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := append(slices.Clone(f.rows), row)
	slices.SortFunc(rows, func(a, b loader.Row) int { return bytes.Compare(a.Key, b.Key) })
	f.rows = rows
}

const (
	checkKey = "salt(check_id) + md5hex(check_id) + id"
	checkJob = "table: check\nkey: " + checkKey + "\nquery: [check_id]\ncolumns: [id, check_id, text]\n"
	orderKey = "salt(user, 3) + user + '|' + ts"
	orderJob = "table: orders\nkey: " + orderKey + "\nquery: [user]\ncolumns: [user, ts, text]\n"
)

// service is a server under test.
type service struct {
	*Server
	fake *fake
	dir  string
}

// open serves job files by name over a fake with ten salts; it dials at once and runs no loops.
func open(t testing.TB, o Options, jobs map[string]string) *service {
	t.Helper()
	s := &service{fake: &fake{}, dir: t.TempDir()}
	s.fake.salted(10, 1)
	for name, text := range jobs {
		s.write(t, name, text)
	}
	o.Jobs = s.dir
	o.Dial = func(context.Context) (Cluster, error) { return s.fake, nil }
	var err error
	if s.Server, err = Open(o); err != nil {
		t.Fatal(err)
	}
	s.held.cluster = s.fake
	for _, r := range s.resources().list {
		r.fit.checked.Store(true) // its scans would disturb those that tests count and block
	}
	return s
}

func (s *service) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name+".yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checks returns a service of the table check, with n rows of each of the ids A, B and C.
func checks(t testing.TB, o Options, n int) *service {
	t.Helper()
	s := open(t, o, map[string]string{"check": checkJob, "orders": orderJob})
	for _, id := range []string{"A", "B", "C"} {
		for i := range n {
			s.fake.put(t, checkKey, 10, "id", fmt.Sprintf("%04d", i), "check_id", id, "text", strings.Repeat("x", i))
		}
	}
	return s
}

// reply is a response as its caller receives it.
type reply struct {
	status int
	header http.Header
	body   string
	Rows   []map[string]any
	Next   *string `json:"next_page"`
	Problem
}

func (s *service) do(r *http.Request) reply {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Result().Body)
	out := reply{status: w.Code, header: w.Header(), body: string(body)}
	_ = json.Unmarshal(body, &out) // invalid JSON is detected by the comparisons
	return out
}

func (s *service) get(path string) reply { return s.do(httptest.NewRequest("GET", path, nil)) }

func (s *service) post(path, body string) reply {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return s.do(r)
}

// ids returns the ids of a reply's rows.
func (r reply) ids() string {
	var all []string
	for _, row := range r.Rows {
		all = append(all, fmt.Sprint(row["id"]))
	}
	return strings.Join(all, " ")
}

// refuses checks that a reply is a problem of a kind, in the common form of problems.
func (r reply) refuses(t testing.TB, what string, k kind) {
	t.Helper()
	if r.status != k.status || r.Type != problemPrefix+k.name || r.Status != k.status || r.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: %d %s, want %d %s", what, r.status, cmp.Or(r.body, "nothing"), k.status, k.name)
	}
	if (r.header.Get("Retry-After") != "") != (k.retry > 0) {
		t.Errorf("%s: Retry-After is %q", what, r.header.Get("Retry-After"))
	}
	if r.Rows != nil {
		t.Errorf("%s: it has rows and the problem", what)
	}
}
