package query

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
)

func splitKey(t testing.TB, spec string) keyrange.Key {
	t.Helper()
	e, err := keygen.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return keyrange.Split(e)
}

// TestBetweenValues checks that a scan has the rows of a range of values if the table has the values as text, and else says that it has those of keys.
func TestBetweenValues(t *testing.T) {
	k := splitKey(t, "rule + '|' + id")
	for _, c := range []struct {
		mapping        spec.Mapping
		from, to       string
		filters, byKey bool
		lo, hi         string
	}{
		{spec.Mapping{}, "R1", "R10", true, false, "R1", "R1}"}, {spec.Mapping{}, "R1", "R2", false, false, "R1", "R2"},
		{spec.Mapping{Cells: []spec.CellSpec{{Column: "hit"}}}, "R1", "R10", false, true, "R1", "R10"},
		{spec.Mapping{Cells: []spec.CellSpec{{Column: "rule", Type: "long"}}}, "R10", "R2", false, true, "R10", "R2"},
	} {
		r := &reading{}
		err := r.between(jobtest.Resolve(t, spec.Spec{Key: "rule + '|' + id", Mapping: c.mapping}), k, 1, Query{From: []string{c.from}, To: []string{c.to}})
		if err != nil || (r.filter != nil) != c.filters || r.byKey != c.byKey || string(r.keys.Lo) != c.lo || string(r.keys.Hi) != c.hi {
			t.Errorf("from %s to %s: filter %t, by key %t, [%q, %q), %v", c.from, c.to, r.filter != nil, r.byKey, r.keys.Lo, r.keys.Hi, err)
		}
		if r.filter == nil {
			continue
		}
		for rule, want := range map[string]bool{"R1": true, "R10": false, "R": false, "R00": false, "R0": false, "": false, " of R1": true} {
			row := loader.Row{Key: []byte("R1|7")} // outside of the range of keys
			if rule == " of R1" {
				row.Key = []byte("R1")
				rule = ""
			}
			if rule != "" {
				row.Cells = []loader.Cell{{Family: []byte("f"), Qualifier: []byte("rule"), Value: []byte(rule)}}
			}
			if got := r.filter.row(row); got != want {
				t.Errorf("from %s to %s: %q is kept %t", c.from, c.to, rule, got)
			}
		}
	}
}

func TestFullFilter(t *testing.T) {
	k := splitKey(t, "salt(a) + md5hex(a) + b")
	row := func(values ...string) loader.Row {
		var r loader.Row
		for i, v := range values {
			if v != "" {
				r.Cells = append(r.Cells, loader.Cell{Family: []byte("f"), Qualifier: []byte([]string{"a", "b", "c"}[i]), Value: []byte(v)})
			}
		}
		return r
	}
	for _, c := range []struct {
		q    Query
		row  loader.Row
		want bool
	}{
		{Query{From: []string{"b"}, To: []string{"d"}}, row("b", "1"), true},
		{Query{From: []string{"b"}, To: []string{"d"}}, row("d", "1"), false},
		{Query{From: []string{"b"}, To: []string{"d"}}, row("a", "1"), false},
		{Query{From: []string{"b", "2"}}, row("b", "1"), false},
		{Query{From: []string{"b", "2"}}, row("c", "1"), true},
		{Query{To: []string{"b", "2"}}, row("b", "1"), true},
		{Query{To: []string{"b", "2"}}, row("b", ""), false}, // the cell is missing
		{Query{From: []string{"b"}}, row("", "1"), false},
		{Query{Prefix: []string{"bb"}}, row("bbc", "1"), true},
		{Query{Prefix: []string{"bb"}}, row("b", "1"), false},
		{Query{Prefix: []string{"bb", "1"}}, row("bb", "12"), true},
		{Query{Prefix: []string{"b", "1"}}, row("bb", "12"), false},
	} {
		f, err := fullFilter(jobtest.Resolve(t, spec.Spec{}), k, c.q)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.row(c.row); got != c.want {
			t.Errorf("%+v: row %+v is kept %t, want %t", c.q, c.row, got, c.want)
		}
		// the server's conditions must not remove wanted rows
		if v := c.row.Cells; c.want && len(f.where) > 0 {
			if w := f.where[0]; bytes.Compare(v[0].Value, w.From) < 0 || w.To != nil && bytes.Compare(v[0].Value, w.To) > 0 {
				t.Errorf("%+v: the server would hold back %+v", c.q, c.row)
			}
		}
	}
	if _, err := fullFilter(jobtest.Resolve(t, spec.Spec{}), k, Query{}); fail.KindOf(err) != fail.Config {
		t.Errorf("no range: %v", err)
	}
}

// countedRows counts the rows that scans of a cluster read.
type countedRows struct {
	*fakeCluster
	read int
}

func (c *countedRows) Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error {
	return c.fakeCluster.Scan(ctx, req, func(r loader.Row) error { c.read++; return fn(r) })
}

// TestGapsArePassedOver reads a range of values whose rows are far apart: the bound's value begins with another one of the range. The rows between them
// are not all read, whatever the limit of a page.
func TestGapsArePassedOver(t *testing.T) {
	m := &memoryTable{keeps: true}
	add := func(rule, id string) {
		m.rows = append(m.rows, loader.Row{Key: []byte(rule + "|" + id), Cells: []loader.Cell{{Family: []byte("f"), Qualifier: []byte("rule"), Value: []byte(rule)}}})
	}
	for i := range 20_000 {
		add(fmt.Sprintf("R1%07d", i), "x")
	}
	add("R1", "m")
	add("R10", "m")
	add("R1", "n")
	slices.SortFunc(m.rows, func(a, b loader.Row) int { return bytes.Compare(a.Key, b.Key) })
	job := jobtest.Resolve(t, spec.Spec{Table: "t", Key: "rule + '|' + id", Columns: []string{"rule", "id"}})
	for _, limit := range []int64{0, 1, 2} {
		c := &countedRows{fakeCluster: &fakeCluster{memoryTable: m, regions: splitAt(1)}}
		table, err := NewTable(c, job)
		testcheck.Must(t, err)
		var keys []string
		for page, more := "", true; more; more = page != "" {
			st, err := table.Read(t.Context(), Query{From: []string{"R1"}, To: []string{"R10"}, Limit: limit, Page: page}, func(r loader.Row) error {
				keys = append(keys, string(r.Key))
				return nil
			})
			testcheck.Must(t, err)
			page = st.Next
		}
		if !slices.Equal(keys, []string{"R1|m", "R1|n"}) || c.read > 4*passOver {
			t.Errorf("limit %d: rows %q, %d read", limit, keys, c.read)
		}
	}
}
