package job

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// plainComputed is the spec for columns that hold the values that the cells of [TestRunComputed] compute.
var plainComputed = spec.Spec{Key: "id", Timestamp: 1700000000000, Mapping: spec.Mapping{Cells: []spec.CellSpec{
	{Column: "twice", Type: "long"}, {Column: "kind", Family: "g", Type: "boolean"}, {Column: "text"}}}}

// computedRecords returns the records of that job, from those whose n is not below least.
func computedRecords(t testing.TB, records [][]string, least int) (kept [][]string) {
	for _, r := range records {
		n, err := strconv.Atoi(r[1])
		testcheck.Must(t, err)
		if n >= least {
			kept = append(kept, []string{r[0], fmt.Sprint(2 * n), fmt.Sprint(r[3] == "true" && r[4] != ""), strings.ReplaceAll(r[4], "拒绝", "no")})
		}
	}
	return kept
}

// TestRunComputed loads computed cells of filtered records, and compares them in HBase's own client with values computed separately. A job that
// replaces the table with a narrower filter leaves no row of the others, nor does one that replaces it by a new table.
func TestRunComputed(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	records := clusterRecords(400)
	input := filepath.Join(t.TempDir(), "rows.dump")
	jobtest.WriteRecords(t, input, records)
	name := familyTable(t, env, "f", "g")
	s := spec.Spec{Table: name, Inputs: []string{input}, Format: "dump", Columns: jobtest.MappedColumns, Key: "id", Timestamp: 1700000000000, Verify: "full", Filter: "n >= -50",
		Mapping: spec.Mapping{Cells: []spec.CellSpec{{Expr: "multiply(n, 2)", Qualifier: "twice", Type: "long"}, {Expr: "flag = 'true' and text != ''", Qualifier: "kind", Family: "g", Type: "boolean"},
			{Expr: "replace(text, '拒绝', 'no')", Qualifier: "text"}}}}
	holds := func(table string, least int) {
		t.Helper()
		got, err := cluster.AdminT(t).Run(t.Context(), "digest", table)
		if want := jobtest.ClientDigest(jobtest.PlainCells(t, plainComputed, []string{"id", "twice", "kind", "text"}, computedRecords(t, records, least))); err != nil || got != want {
			t.Errorf("the table has %s, want %s, %v", got, want, err)
		}
	}
	o := RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}
	for _, already := range []bool{false, true} {
		r, err := Run(t.Context(), env, jobtest.Resolve(t, s), o)
		testcheck.Must(t, err)
		if m := r.Manifest; r.Already != already || m.Records != 400 || m.Filtered != 50 || m.Digest.Rows != 350 || m.Rejected != 0 {
			t.Errorf("%d records, %d filtered, %s", m.Records, m.Filtered, m.Digest)
		}
	}
	holds(name, -50)
	other := s
	other.Filter = "n >= -49"
	if _, err := Run(t.Context(), env, jobtest.Resolve(t, other), o); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "filter was n >= -50, it is n >= -49") {
		t.Errorf("another filter: %v", err)
	}
	cells := map[string]string{}
	_, err := query.Read(t.Context(), env, jobtest.Resolve(t, s), query.Query{Values: []string{"100101"}}, func(r loader.Row) error {
		for _, c := range r.Cells {
			cells[string(c.Family)+":"+string(c.Qualifier)] = string(c.Value)
		}
		return nil
	})
	testcheck.Must(t, err)
	if len(cells) != 3 || cells["f:twice"] != "2" || cells["g:kind"] != "false" || cells["f:text"] != `no "101"` {
		t.Errorf("get: %q", cells)
	}
	s.Filter, s.Replace, s.MaxDeletes, s.Timestamp = "n >= 100", true, "100%", 1700000000001
	r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
	testcheck.Must(t, err)
	if r.Manifest.Filtered != 200 || r.Replace == nil || r.Replace.Deleted != 150 {
		t.Errorf("%d filtered, replaced %+v", r.Manifest.Filtered, r.Replace)
	}
	holds(name, 100)
	s.Filter, s.Timestamp = "n >= 150", 1700000000002
	into := freshName(t)
	r, err = (&freshLab{replaceLab: &replaceLab{T: t, env: env, state: t.TempDir()}}).into(s, into, false)
	testcheck.Must(t, err)
	if r.Manifest.Filtered != 250 || r.Manifest.Digest.Rows != 150 {
		t.Errorf("%d filtered, %s", r.Manifest.Filtered, r.Manifest.Digest)
	}
	holds(into.String(), 150)
}
