package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"

	"pgregory.net/rapid"
)

// events is a loaded table, with all its rows in the order of the original key.
type events struct {
	env  *cluster.Env
	spec spec.Job
	rows []eventRow
}

type eventRow struct {
	ts, id, text string
	key, head    string // the row key, and the salt at its beginning
}

func (r eventRow) original() string { return r.key[len(r.head):] }

// loadEvents loads rows of random times, some of them equal, into a new table.
func loadEvents(t testing.TB, env *cluster.Env, key string, salts, n int) *events {
	t.Helper()
	name := jobtest.FreshTable(t, env, salts, nil)
	e := &events{env: env, spec: jobtest.Resolve(t, spec.Spec{Table: name, Key: key, Columns: []string{"ts", "id", "text"}, Verify: "off"})}
	parsed, err := keygen.Parse(key)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, uint64(salts)))
	var csv strings.Builder
	csv.WriteString("ts,id,text\n")
	for i := range n {
		r := eventRow{ts: fmt.Sprintf("%04d", rng.IntN(n)), id: fmt.Sprintf("%05d", i)}
		if rng.IntN(3) > 0 {
			r.text = strings.Repeat("订单,", rng.IntN(40))
		}
		values := map[string]string{"ts": r.ts, "id": r.id}
		k, err := keyrange.Bytes(keygen.Parts(parsed), salts, values)
		if err != nil {
			t.Fatal(err)
		}
		h, err := keyrange.Bytes(keyrange.Split(parsed).Head, salts, values)
		if err != nil {
			t.Fatal(err)
		}
		r.key, r.head = string(k), string(h)
		e.rows = append(e.rows, r)
		fmt.Fprintf(&csv, "%s,%s,%q\n", r.ts, r.id, r.text)
	}
	slices.SortFunc(e.rows, func(a, b eventRow) int {
		return cmp.Or(cmp.Compare(a.original(), b.original()), cmp.Compare(a.head, b.head))
	})
	file := filepath.Join(t.TempDir(), "events.csv")
	if err := os.WriteFile(file, []byte(csv.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	s := e.spec
	s.Inputs = []string{file}
	if _, err := job.Run(t.Context(), env, s, job.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	return e
}

// between returns the rows from one original key to another.
func (e *events) between(from, to string) []eventRow {
	var rows []eventRow
	for _, r := range e.rows {
		if r.original() >= from && (to == "" || r.original() < to) {
			rows = append(rows, r)
		}
	}
	return rows
}

// check compares rows that were read with rows of the events.
func check(row loader.Row, want eventRow, columns ...string) error {
	if string(row.Key) != want.key {
		return fmt.Errorf("row %q, want %q", row.Key, want.key)
	}
	values := map[string]string{"id": want.id, "text": want.text, "ts": want.ts}
	if len(columns) == 0 {
		columns = []string{"id", "text", "ts"}
	}
	i := 0
	for _, c := range columns {
		if values[c] == "" {
			continue
		}
		if i >= len(row.Cells) || string(row.Cells[i].Qualifier) != c || string(row.Cells[i].Value) != values[c] {
			return fmt.Errorf("row %q has the cells %v, want %s=%q", row.Key, row.Cells, c, values[c])
		}
		i++
	}
	if i != len(row.Cells) {
		return fmt.Errorf("row %q has %d cells, want %d", row.Key, len(row.Cells), i)
	}
	return nil
}

// page reads a page and compares it with the first of the remaining rows.
func (e *events) page(ctx context.Context, q Query, want []eventRow) (*ReadStats, error) {
	n := 0
	st, err := Read(ctx, e.env, e.spec, q, func(row loader.Row) error {
		if n == len(want) {
			return fmt.Errorf("row %q is behind the last one", row.Key)
		}
		n++
		return check(row, want[n-1], q.Columns...)
	})
	if err == nil && (st.Rows != n || q.Limit == 0 && n < len(want) || q.Limit > 0 && n != int(min(q.Limit, int64(len(want))))) {
		err = fmt.Errorf("%d rows and %+v of %d, limit %d", n, st, len(want), q.Limit)
	}
	if err == nil && (st.Next != "") != (n < len(want)) {
		err = fmt.Errorf("%d of %d rows, and the next page is %q", n, len(want), st.Next)
	}
	return st, err
}

// TestScanRanges compares random ranges, limits and pages of tables with and without a salt with all rows in memory.
func TestScanRanges(t *testing.T) {
	t.Parallel()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	for _, c := range []struct {
		key   string
		salts int
	}{{"salt(ts, id) + ts + '|' + id", 5}, {"salt(id, 3) + ts + id", 3}, {"javasalt(id, 3) + ts + id", 3}, {"ts + '|' + id", 1}} {
		t.Run(c.key, func(t *testing.T) {
			e := loadEvents(t, env, c.key, c.salts, 1500)
			for seed := range 40 {
				ask := rangeQuestions.Example(seed)
				q := ask.Query
				if ask.to != "" && ask.from > ask.to {
					if _, err := e.page(t.Context(), q, nil); fail.KindOf(err) != fail.Config {
						t.Fatalf("a range that ends before it begins: %v", err)
					}
					continue
				}
				want := e.between(ask.from, ask.to)
				for i, limit := range ask.limits {
					q.Limit = int64(limit)
					st, err := e.page(t.Context(), q, want)
					if err != nil {
						t.Fatalf("seed %d, page %d of %v, limits %v: %v", seed, i+1, q, ask.limits, err)
					}
					if q.Page = st.Next; q.Page == "" {
						break
					}
					want = want[st.Rows:]
				}
			}
		})
	}
}

// rangeQuestion is a range, its bounds as bytes of the original key, and the limits of its first pages.
type rangeQuestion struct {
	Query
	from, to string
	limits   []int
}

var rangeQuestions = rapid.Custom(func(t *rapid.T) rangeQuestion {
	value := rapid.Custom(func(t *rapid.T) string {
		s := fmt.Sprintf("%04d", rapid.IntRange(0, 1499).Draw(t, "ts"))
		return s[:rapid.IntRange(1, 4).Draw(t, "digits")]
	})
	var q rangeQuestion
	switch rapid.SampledFrom([]string{"all", "from", "to", "both", "both", "prefix"}).Draw(t, "range") {
	case "from":
		q.from = value.Draw(t, "from")
		q.From = []string{q.from}
	case "to":
		q.to = value.Draw(t, "to")
		q.To = []string{q.to}
	case "both":
		q.from, q.to = value.Draw(t, "from"), value.Draw(t, "to")
		if q.from == q.to {
			q.to += "0"
		}
		q.From, q.To = []string{q.from}, []string{q.to}
	case "prefix":
		q.from = value.Draw(t, "prefix")
		q.Prefix = []string{q.from}
		q.to = string(loader.PrefixEnd([]byte(q.from)))
	}
	if rapid.Bool().Draw(t, "columns") {
		q.Columns = []string{"id", "text"}
	}
	q.Memory = spec.Size(rapid.SampledFrom([]int{0, 1, 100_000}).Draw(t, "memory"))
	q.limits = rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 7, 50, 400}), 1, 4).Draw(t, "limits")
	return q
})

// TestScanSplits reads page after page while regions split between and within them.
func TestScanSplits(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	for _, c := range []struct {
		key   string
		salts int
		at    []string
	}{{"salt(ts, id) + ts + '|' + id", 5, []string{"20500", "30900", "10200"}}, {"ts + '|' + id", 1, []string{"0500"}}} {
		t.Run(c.key, func(t *testing.T) {
			e := loadEvents(t, env, c.key, c.salts, 1500)
			want := e.rows
			q := Query{Limit: 100, Memory: 1}
			splits := c.at
			for pages := 0; ; pages++ {
				if len(splits) > 0 && pages%3 == 1 {
					if _, err := cluster.AdminT(t).Run(t.Context(), "split", e.spec.Table, splits[0]); err != nil {
						t.Fatal(err)
					}
					splits = splits[1:]
				}
				st, err := e.page(t.Context(), q, want)
				if err != nil {
					t.Fatalf("page %d: %v", pages+1, err)
				}
				want = want[st.Rows:]
				if q.Page = st.Next; q.Page == "" {
					break
				}
			}
			if len(want) > 0 {
				t.Errorf("%d rows are left", len(want))
			}
			// a page of another query is refused
			st, err := e.page(t.Context(), Query{Limit: 1}, e.rows)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.page(t.Context(), Query{From: []string{"0100"}, Page: st.Next}, nil); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "another query") {
				t.Errorf("a page of another query: %v", err)
			}
		})
	}
}

// TestScanStops ends a read early: the error is returned, a page token continues there, and no goroutine of the scan
// is left.
func TestScanStops(t *testing.T) {
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	e := loadEvents(t, env, "salt(ts, id) + ts + '|' + id", 5, 1500)
	stop := errors.New("enough")
	for _, at := range []int{1, 100, 1400} {
		n := 0
		st, err := Read(t.Context(), env, e.spec, Query{Memory: 1}, func(loader.Row) error {
			if n == at {
				return stop
			}
			n++
			return nil
		})
		if !errors.Is(err, stop) || st.Rows != at {
			t.Fatalf("%+v, %v", st, err)
		}
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for _, name := range []string{"fetchers", "loader.(*scan)", "loader.(*Cluster).Scan"} {
			if strings.Contains(string(stacks), name) {
				t.Errorf("stopped after %d rows, %s is still there:\n%s", at, name, stacks)
			}
		}
		if _, err := e.page(t.Context(), Query{Page: st.Next}, e.rows[at:]); err != nil {
			t.Errorf("resumed after %d rows: %v", at, err)
		}
	}
}

// TestScanOtherWays reads by bytes of row keys, by a query key whose salt is not known, and by the values of cells.
func TestScanOtherWays(t *testing.T) {
	t.Parallel()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	e := loadEvents(t, env, "salt(id) + md5hex(ts) + id", 5, 1500)
	pick := func(keep func(eventRow) bool) []eventRow {
		var rows []eventRow
		for _, r := range e.rows {
			if keep(r) {
				rows = append(rows, r)
			}
		}
		return rows
	}
	ts := e.rows[700].ts
	for _, c := range []struct {
		q    Query
		keep func(eventRow) bool
	}{
		{Query{Values: []string{ts}}, func(r eventRow) bool { return r.ts == ts }},
		{Query{Values: []string{ts}, Columns: []string{"id"}}, func(r eventRow) bool { return r.ts == ts }},
		{Query{Full: true, From: []string{"0100"}, To: []string{"0200"}}, func(r eventRow) bool { return r.ts >= "0100" && r.ts < "0200" }},
		{Query{Full: true, Prefix: []string{"01"}, Columns: []string{"text"}}, func(r eventRow) bool { return strings.HasPrefix(r.ts, "01") }},
		{Query{Full: true, From: []string{ts, "00700"}}, func(r eventRow) bool { return r.ts > ts || r.ts == ts && r.id >= "00700" }},
		{Query{Full: true, From: []string{"zz"}}, func(r eventRow) bool { return false }},
	} {
		e.spec.Query = []string{"ts"}
		want := pick(c.keep)
		if st, err := e.page(t.Context(), c.q, want); err != nil {
			t.Errorf("%v: %v, %+v", c.q, err, st)
		}
		c.q.Limit = 3
		for left := want; ; {
			st, err := e.page(t.Context(), c.q, left)
			if err != nil {
				t.Errorf("%v: %v", c.q, err)
				break
			}
			if c.q.Page = st.Next; st.Next == "" {
				break
			}
			left = left[st.Rows:]
		}
	}
	// by row keys, in their own order, and without a key spec
	rows := slices.SortedFunc(slices.Values(e.rows), func(a, b eventRow) int { return cmp.Compare(a.key, b.key) })
	plain := e.spec.Spec()
	plain.Key = ""
	e.spec = jobtest.Resolve(t, plain)
	for _, q := range []Query{{}, {Raw: true, StartRow: []byte(rows[300].key), StopRow: []byte(rows[900].key)}, {Raw: true, StartRow: []byte("3")}} {
		var want []eventRow
		for _, r := range rows {
			if r.key >= string(q.StartRow) && (len(q.StopRow) == 0 || r.key < string(q.StopRow)) {
				want = append(want, r)
			}
		}
		if _, err := e.page(t.Context(), q, want); err != nil {
			t.Errorf("%v: %v", q, err)
		}
	}
	if _, err := e.page(t.Context(), Query{Values: []string{"1"}}, nil); fail.KindOf(err) != fail.Config {
		t.Errorf("a query key without a key: %v", err)
	}
	e.spec.Table = "test:none"
	if _, err := e.page(t.Context(), Query{}, nil); fail.KindOf(err) != fail.Check || !errors.Is(err, loader.ErrTableNotFound) {
		t.Errorf("no table: %v", err)
	}
}

// TestExplain checks the statistics of regions with and without wanted rows.
func TestExplain(t *testing.T) {
	t.Parallel()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	e := loadEvents(t, env, "salt(ts, id) + ts + '|' + id", 5, 1500)
	st, err := e.page(t.Context(), Query{Explain: true}, e.rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Regions) != 5 || st.Heads != 5 {
		t.Fatalf("%d regions: %+v", len(st.Regions), st)
	}
	for i, r := range st.Regions {
		rows, bytes := int64(0), int64(0) // of the region
		for _, e := range e.rows {
			if e.head == fmt.Sprint(i) {
				rows, bytes = rows+1, bytes+int64(len(e.ts)+len(e.id)+len(e.text))
			}
		}
		if i > 0 && string(r.Start) != fmt.Sprint(i) || r.Rows != rows || r.Bytes < bytes || r.Bytes > 10*bytes+100*rows {
			t.Errorf("region %d from %q: %d rows in %d bytes, it has %d rows with values of %d bytes", i, r.Start, r.Rows, r.Bytes, rows, bytes)
		}
		if blocks := max((max(r.Bytes, r.BlockBytes)+64<<10-1)/(64<<10), r.DiskReads); r.Blocks != blocks || r.BlockBytes < 1 || r.DiskReads < 0 || r.Scans < 1 || !strings.Contains(r.Server, ":") {
			t.Errorf("%+v, which are %d blocks", r, blocks)
		}
	}
	r := e.rows[10]
	st, err = e.page(t.Context(), Query{From: []string{r.ts, r.id}, To: []string{r.ts, r.id + "x"}, Explain: true}, []eventRow{r})
	if err != nil || len(st.Regions) != 5 {
		t.Fatalf("%+v, %v", st, err)
	}
	for i, read := range st.Regions {
		if want := map[bool]int64{true: 1}[r.head == fmt.Sprint(i)]; read.Rows != want || read.Scans != 1 || read.Bytes > 0 != (want > 0) {
			t.Errorf("of one row in region %s: %+v", r.head, read)
		}
	}
}
