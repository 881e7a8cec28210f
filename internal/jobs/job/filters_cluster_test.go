package job

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// filtersLab has a job of a table, an index and two further tables, with records in two directories. The job has a filter, and one table has another.
type filtersLab struct {
	*testing.T
	cluster *testcluster.Cluster
	env     *cluster.Env
	records [][]string
	spec    spec.Spec
}

func newFiltersLab(t *testing.T) *filtersLab {
	l := &filtersLab{T: t, cluster: testcluster.Shared(t), records: clusterRecords(400)}
	l.env = jobtest.ClusterEnv(t, l.cluster)
	dir := t.TempDir()
	for i, name := range []string{"a", "b"} {
		testcheck.Must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		jobtest.WriteRecords(t, filepath.Join(dir, name, "rows.dump"), l.records[200*i:200*(i+1)])
	}
	table := func() string { return jobtest.FreshTableAt(t, l.env, points("1", "2"), nil) }
	l.spec = spec.Spec{Table: table(), Inputs: []string{dir}, Format: "dump", Columns: jobtest.MappedColumns, Key: "id", Timestamp: 1700000000000, Verify: "full", Filter: "n >= -50",
		Mapping: spec.Mapping{Cells: []spec.CellSpec{{Expr: "multiply(n, 2)", Qualifier: "twice"}}},
		Tables: []spec.TableSpec{
			{Table: table(), Key: "id", Filter: "text != '' and n < 150", Mapping: spec.Mapping{Cells: []spec.CellSpec{{Expr: "replace(text, '拒绝', 'no')", Qualifier: "text"}}}},
			{Table: table(), Key: "id", Columns: []string{"n"}},
			{Index: "by_day", Table: table(), Key: "day + id"},
		}}
	return l
}

// holds compares each table, read by HBase's own client, with records filtered and computed in Go, and checks the counts.
func (l *filtersLab) holds(m *manifest.Manifest, tables []result.Table) {
	l.Helper()
	row := map[string][][]string{}
	for _, r := range computedRecords(l, l.records, -50) {
		var twice int
		_, err := fmt.Sscan(r[1], &twice)
		testcheck.Must(l, err)
		row[l.spec.Table] = append(row[l.spec.Table], []string{r[0], r[1]})
		row[l.spec.Tables[1].Table] = append(row[l.spec.Tables[1].Table], []string{r[0], fmt.Sprint(twice / 2)})
		if r[3] != "" && twice < 300 {
			row[l.spec.Tables[0].Table] = append(row[l.spec.Tables[0].Table], []string{r[0], r[3]})
		}
	}
	for table, column := range map[string]string{l.spec.Table: "twice", l.spec.Tables[0].Table: "text", l.spec.Tables[1].Table: "n"} {
		plain := spec.Spec{Key: "id", Timestamp: l.spec.Timestamp, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: column}}}}
		got, err := l.cluster.AdminT(l).Run(l.Context(), "digest", table)
		if want := jobtest.ClientDigest(jobtest.PlainCells(l, plain, []string{"id", column}, row[table])); err != nil || got != want {
			l.Errorf("table %s of %s has %s, want %s, %v", table, column, got, want, err)
		}
	}
	if got, err := l.cluster.AdminT(l).Run(l.Context(), "count", l.spec.Tables[2].Table); err != nil || strings.TrimSpace(got) != "350" {
		l.Errorf("the index has %s entries, %v", got, err)
	}
	all := []*manifest.Manifest{m}
	for _, t := range tables {
		all = append(all, t.Manifest)
	}
	rows := []int64{350, int64(len(row[l.spec.Tables[0].Table])), 350, 350}
	for i, m := range all {
		if m.Records != 400 || m.Digest.Rows != rows[i] || m.Filtered != 400-rows[i] || m.Rejected+m.Duplicates != 0 {
			l.Errorf("table %d: %d records, %d filtered, %s, want %d rows", i, m.Records, m.Filtered, m.Digest, rows[i])
		}
	}
	if len(all) != len(rows) || rows[1] < 100 || rows[1] == 350 {
		l.Errorf("%d tables, %d rows in the filtered one", len(all), rows[1])
	}
}

// TestTablesFiltered fills tables with the job's filter, and one with its own filter too: in one run that is killed after records of several tables
// and resumed, and by directories. With another filter of the table the job is refused.
func TestTablesFiltered(t *testing.T) {
	t.Parallel()
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		l := newFiltersLab(t)
		p := &program{t: t, path: buildProgram(t), cluster: l.cluster, env: l.env, table: l.spec.Table, state: t.TempDir(), input: l.spec.Inputs[0]}
		file := filepath.Join(t.TempDir(), "job.yaml")
		write := func(own string) {
			testcheck.Must(t, os.WriteFile(file, fmt.Appendf(nil, `key: id
columns: [%s]
format: dump
filter: n >= -50
cells: [{expr: 'multiply(n, 2)', qualifier: twice}]
tables:
  - {table: %q, key: id, filter: "%s", cells: [{expr: "replace(text, '拒绝', 'no')", qualifier: text}]}
  - {table: %q, key: id, columns: [n]}
  - {index: by_day, table: %q, key: day + id}
`, strings.Join(jobtest.MappedColumns, ", "), l.spec.Tables[0].Table, own, l.spec.Tables[1].Table, l.spec.Tables[2].Table), 0o600))
		}
		write(l.spec.Tables[0].Filter)
		flags := []string{"--job=" + file, "--timestamp=1700000000000"}
		for _, after := range []string{"sorted", "written:5", "table:1", "verified:2"} {
			if code, _, stderr := p.run(after, flags...); code != 128+9 {
				t.Fatalf("%s: exit code %d: %s", after, code, stderr)
			}
		}
		write("n < 150")
		if code, _, stderr := p.run("", flags...); code != fail.Check.ExitCode() || !strings.Contains(stderr, "the filter was") {
			t.Errorf("another filter: exit code %d: %s", code, stderr)
		}
		write(l.spec.Tables[0].Filter)
		for range 2 {
			code, stdout, stderr := p.run("", flags...)
			r := result.Result{}
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
				t.Fatalf("exit code %d, %v: %s", code, err, stderr)
			}
			l.holds(r.Manifest, r.Tables)
		}
	})
	t.Run("by directory", func(t *testing.T) {
		t.Parallel()
		l := newFiltersLab(t)
		l.spec.Timestamp = 0 // each directory is a job with its own timestamp
		r, err := RunParts(t.Context(), l.env, jobtest.Resolve(t, l.spec), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
		testcheck.Must(t, err)
		if len(r.Parts) != 2 || r.Parts[0].Filtered != 50 || r.Parts[1].Filtered != 0 {
			t.Errorf("%+v", r.Parts)
		}
		l.holds(r.Manifest, r.Tables)
	})
}
