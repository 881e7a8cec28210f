package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// pair is two tables with the rows of the example, and HBase's own client.
type pair struct {
	t     *testing.T
	env   *cluster.Env
	admin *testcluster.Admin
	names [2]string
	o     Options
}

func newPair(t *testing.T) *pair {
	t.Helper()
	return newPairOf(t, nil)
}

// newPairOf returns a pair of tables with other settings of the family.
func newPairOf(t *testing.T, change func(*loader.Family)) *pair {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	c := testcluster.Shared(t)
	p := &pair{t: t, env: jobtest.ClusterEnv(t, c), admin: c.AdminT(t), o: Options{State: checkpoint.Options{Dir: t.TempDir()}}}
	p.o.SpillDir = t.TempDir()
	for i := range p.names {
		p.names[i] = jobtest.FreshTable(t, p.env, 10, change)
		_, err := job.Run(t.Context(), p.env, p.spec(i), job.RunOptions{})
		testcheck.Must(t, err)
	}
	return p
}

// spec returns the example's spec for one of the tables.
func (p *pair) spec(i int) spec.Job {
	s := jobtest.Spec(p.t, "check")
	s.Table, s.Inputs, s.Timestamp = p.names[i], []string{jobtest.Export(p.t, "check.csv")}, 1700000000000
	return jobtest.Resolve(p.t, s)
}

func (p *pair) table(i int) Side {
	name, err := loader.ParseTableName(p.names[i])
	testcheck.Must(p.t, err)
	return Side{Table: name, Env: p.env}
}

func (p *pair) request() Request { return Request{A: p.table(0), B: p.table(1), Versions: 1} }

// run compares, and checks that nothing is left behind.
func (p *pair) run(req Request) (*result.Comparison, error) {
	p.t.Helper()
	r, err := Run(p.t.Context(), req, p.o)
	if left, _ := os.ReadDir(p.o.SpillDir); len(left) > 0 {
		p.t.Errorf("%d entries are left in the spill directory", len(left))
	}
	jobs, readErr := status.ReadAll(p.o.State.Dir)
	testcheck.Must(p.t, readErr)
	for _, j := range jobs {
		if err == nil && (j.State != history.JobDone || len(j.Resources) > 0 || j.Table == "") {
			p.t.Errorf("%s is %s, with %+v", j.Job, j.State, j.Resources)
		}
	}
	return r, err
}

func (p *pair) equal(req Request) *result.Comparison {
	p.t.Helper()
	r, err := p.run(req)
	if testcheck.Must(p.t, err); !r.Equal || r.Found != (result.Differences{}) || r.A.Rows == 0 || r.A.Rows != r.B.Rows {
		p.t.Fatalf("%+v", r)
	}
	return r
}

// seen returns what HBase's client sees of a table: the value of each column, with its timestamp if timestamps count.
func (p *pair) seen(i int, stamps bool) map[string]string {
	p.t.Helper()
	out, err := p.admin.Run(p.t.Context(), "scan", p.names[i])
	testcheck.Must(p.t, err)
	cells := map[string]string{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if !stamps {
			f[2] = ""
		}
		cells[f[0]+"\t"+f[1]] = f[2] + "\t" + f[3]
	}
	return cells
}

// rowsThatDiffer returns the rows of two tables that differ for HBase's client.
func (p *pair) rowsThatDiffer(stamps bool) (rows []string) {
	a, b := p.seen(0, stamps), p.seen(1, stamps)
	for _, both := range [][2]map[string]string{{a, b}, {b, a}} {
		for column, value := range both[0] {
			if other, ok := both[1][column]; !ok || other != value {
				row, _, _ := strings.Cut(column, "\t")
				rows = append(rows, row)
			}
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// harm changes n rows of B with HBase's client.
func (p *pair) harm(r *rand.Rand, n int) {
	p.t.Helper()
	var columns []string
	for column := range p.seen(1, false) {
		columns = append(columns, column)
	}
	slices.Sort(columns)
	for i := range n {
		row, column, _ := strings.Cut(columns[r.IntN(len(columns))], "\t")
		args := []string{"delete", p.names[1], row}
		switch r.IntN(6) {
		case 0:
			args = []string{"put", p.names[1], row, column, "other"}
		case 1:
			args = []string{"put", p.names[1], row, column, "at the same time", "1700000000000"}
		case 2:
			args = []string{"put", p.names[1], row, "f:more", "of a new column", "1600000000000"}
		case 3:
			args = []string{"put", p.names[1], fmt.Sprintf("%d-extra", i), "f:extra", "of a new row"}
		case 4:
			args = append(args, column)
		}
		_, err := p.admin.Run(p.t.Context(), args...)
		testcheck.Must(p.t, err)
	}
}

// TestCompareTables checks that changes by a client of HBase in one of two equal tables are found exactly, and repaired.
func TestCompareTables(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	req := p.request()
	req.Timestamps = true
	p.equal(req)
	p.harm(testcheck.Rand(t), harms())
	for _, timestamps := range []bool{true, false} {
		req.Timestamps = timestamps
		p.o.Differences, p.o.Limit = filepath.Join(t.TempDir(), "d.jsonl"), 1<<20
		p.o.RangeBytes = 1 << 10
		r, err := p.run(req)
		testcheck.Must(t, err)
		want := p.rowsThatDiffer(timestamps)
		if got := listedRows(t, p.o.Differences); !slices.Equal(got, want) || int(r.Found.Rows()) != len(want) || r.Equal || r.Listed != len(want) {
			t.Errorf("%d rows %+v, %d listed; HBase's client has %d", r.Found.Rows(), r, len(got), len(want))
		}
		if r.Ranges < 11 {
			t.Errorf("%d ranges", r.Ranges)
		}
	}
	scans := req
	p.o.ReadBy = tablesource.ByScan
	r, err := p.run(scans)
	if testcheck.Must(t, err); int(r.Found.Rows()) != len(p.rowsThatDiffer(false)) || r.A.As != "scan" {
		t.Errorf("by scans: %+v", r)
	}
	p.o.ReadBy = ""
	req.Repair = true
	repaired := p.rowsThatDiffer(false)
	if r, err = p.run(req); err != nil || !r.Equal || len(r.Repairs) == 0 || r.File != p.o.Differences || r.Listed != len(repaired) {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := listedRows(t, p.o.Differences); !slices.Equal(got, repaired) {
		t.Errorf("%d rows are listed, %d were repaired", len(got), len(repaired))
	}
	if left := p.rowsThatDiffer(false); len(left) > 0 {
		t.Errorf("%d rows differ after the repair", len(left))
	}
}

// harms returns the number of changes of B to try: BULKLOAD_COMPARE_HARMS, or a few by default.
func harms() (n int) {
	if _, err := fmt.Sscan(os.Getenv("BULKLOAD_COMPARE_HARMS"), &n); err != nil {
		return 60
	}
	return n
}

func listedRows(t *testing.T, path string) (rows []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	testcheck.Must(t, err)
	for line := range strings.Lines(string(text)) {
		var row listedRow
		testcheck.Must(t, json.Unmarshal([]byte(line), &row))
		rows = append(rows, rowkey.String(row.Row))
	}
	slices.Sort(rows)
	return rows
}

// TestRepairTimestamps checks the error that with timestamps cells hidden by B's markers cannot be loaded; after a compaction they can.
func TestRepairTimestamps(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	req := p.request()
	req.Timestamps, req.Repair = true, true
	p.harm(testcheck.Rand(t), 20)
	_, err := p.run(req)
	if left := p.rowsThatDiffer(true); len(left) > 0 {
		if fail.KindOf(err) != fail.Verify || !strings.Contains(err.Error(), "delete markers") {
			t.Fatalf("%d rows differ: %v", len(left), err)
		}
		_, err = p.admin.Run(t.Context(), "flush", p.names[1])
		testcheck.Must(t, err)
		_, err = p.admin.Run(t.Context(), "major-compact", p.names[1])
		testcheck.Must(t, err)
		_, err = p.run(req)
	}
	if left := p.rowsThatDiffer(true); err != nil || len(left) > 0 {
		t.Errorf("%d rows differ: %v", len(left), err)
	}
}

// TestCompareSides checks that a table equals its export in every format, HFiles, a snapshot, and the table under other keys.
func TestCompareSides(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	req := p.request()
	export := p.spec(0)
	req.A = Side{Export: &export, Env: p.env}
	filtered := req.A.Export.Spec()
	filtered.Filter = "md5hex(id) >= '4'"
	js := jobtest.Resolve(t, filtered)
	req.A = Side{Export: &js, Env: p.env}
	if r, err := p.run(req); err != nil || r.Found.OnlyB == 0 || r.Found.OnlyA+r.Found.Changed > 0 || r.A.Rows+r.Found.OnlyB != r.B.Rows {
		t.Errorf("%+v, %v", r, err)
	}
	dir := filepath.Join(t.TempDir(), "hfiles")
	_, err := build.Directories(t.Context(), p.env, p.spec(0), []build.Shape{{Families: []spec.Family{spec.DefaultFamily("f")}, Splits: salts(10)}}, dir, build.WorkOptions{})
	testcheck.Must(t, err)
	req.A, req.Timestamps = Side{Dir: dir, Env: p.env}, true
	p.equal(req)
	req.Choice.Ranges = []keyrange.Range{{Start: []byte("2"), Stop: []byte("4")}, {Start: []byte("7")}}
	if r := p.equal(req); r.A.Rows >= int64(len(p.seen(0, false))) {
		t.Errorf("%+v", r)
	}
}

// TestCompareExports compares exports of both tables in each format with the table that one of them was loaded into, and repairs a table by each.
func TestCompareExports(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, kind := range []data.Table{data.Check, data.Opinion} {
		table := jobtest.FreshTable(t, p.env, 4, nil)
		name, err := loader.ParseTableName(table)
		testcheck.Must(t, err)
		req := Request{B: Side{Table: name, Env: p.env}, Versions: 1, Timestamps: true}
		for i, form := range []data.Form{data.CSV, data.Dump, data.Parquet} {
			file, err := data.WriteFile(t.Context(), t.TempDir(), data.Spec{Table: kind, Rows: 500, Seed: 7, Regions: 4}, form)
			testcheck.Must(t, err)
			s := jobtest.TableSpec(t, kind, file, string(form))
			s.Table, s.Timestamp = table, 1700000000000
			js := jobtest.Resolve(t, s)
			if i == 0 {
				_, err := job.Run(t.Context(), p.env, js, job.RunOptions{})
				testcheck.Must(t, err)
			}
			req.A, req.Repair = Side{Export: &js, Env: p.env}, false
			r := p.equal(req)
			if r.A.As != "export" || r.A.Rows != 500 {
				t.Errorf("%s in %s: %+v", kind, form, r)
			}
			_, err = p.admin.Run(t.Context(), "put", table, "1-of another", "f:id", "of HBase's client")
			testcheck.Must(t, err)
			if r, err := p.run(req); err != nil || r.Equal {
				t.Errorf("%s in %s: %+v, %v", kind, form, r, err)
			}
			req.Repair = true
			p.equal(req)
		}
	}
}

func salts(n int) (points [][]byte) {
	for i := 1; i < n; i++ {
		points = append(points, fmt.Append(nil, i))
	}
	return points
}

// TestCompareResumes checks that an interrupted comparison resumes with the remaining ranges, and has the same result as an uninterrupted one.
func TestCompareResumes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.harm(testcheck.Rand(t), 10)
	req := p.request()
	p.o.Differences, p.o.RangeBytes, p.o.Workers = filepath.Join(t.TempDir(), "d.jsonl"), 1<<10, 1
	whole, err := p.run(req)
	testcheck.Must(t, err)
	want := listedRows(t, p.o.Differences)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	asked := 0
	o := p.o
	o.Gate = gate(func() {
		if asked++; asked > 8 {
			stop()
		}
	})
	if _, err := Run(ctx, req, o); err == nil {
		t.Fatal("it was not stopped")
	}
	resumed := false
	p.o.Events = progress.Events{OnNote: func(msg string, _ ...any) { resumed = resumed || strings.Contains(msg, "compared already") }}
	r, err := p.run(req)
	testcheck.Must(t, err)
	if got := listedRows(t, p.o.Differences); !resumed || r.Found != whole.Found || r.A.Rows != whole.A.Rows || !slices.Equal(got, want) {
		t.Errorf("resumed %t: %+v, want %+v", resumed, r, whole)
	}
}

// gate calls a function each time that work waits at it.
type gate func()

func (g gate) Wait(ctx context.Context) error {
	g()
	return context.Cause(ctx)
}
