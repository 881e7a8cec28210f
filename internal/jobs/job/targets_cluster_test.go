package job

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/serve/query"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// tablesJob returns the opinion example with two more tables and two indexes, and creates all of them.
func tablesJob(t *testing.T, env *cluster.Env) spec.Spec {
	s := jobtest.Spec(t, "opinion")
	s.Table, s.Verify, s.Timestamp = jobtest.FreshTableAt(t, env, partition.SaltSplits(5), nil), "full", 1700000000000
	s.Inputs = []string{jobtest.Export(t, "opinion.csv")}
	plain := func(f *loader.Family) { f.Compression, f.Encoding, f.Bloom = "GZ", "NONE", "NONE" }
	s.Tables = []spec.TableSpec{
		{Index: "by_date", Table: jobtest.FreshTableAt(t, env, points("2014", "2016"), nil), Key: `create_date + "|" + id`, Covers: []string{"business_type"}, Query: []string{"create_date"}},
		{Table: jobtest.FreshTableAt(t, env, points("4", "8", "C"), plain), Key: "id", Columns: []string{"buss_no", "remarks"}},
		{Index: "by_no", Table: jobtest.FreshTableAt(t, env, nil, nil), Key: `buss_no + "|" + id`},
		{Table: jobtest.FreshTableAt(t, env, points("Q2", "Q5"), nil), Key: `current_queue + "|" + id`, Mapping: spec.Mapping{Skip: []string{"remarks"}}},
	}
	return s
}

// TestIndexOfReplacedValues runs a job with two records of the same key: the index has no entry of the replaced value.
func TestIndexOfReplacedValues(t *testing.T) {
	t.Parallel()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	input := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(input, []byte("k,v\nk1,v1\nk2,v2\nk1,v3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for duplicates, digest := range map[string]string{"last": "v3|k1", "first": "v1|k1"} {
		s := spec.Spec{Table: jobtest.FreshTableAt(t, env, nil, nil), Inputs: []string{input}, Key: "k", Duplicates: duplicates, Verify: "full",
			Tables: []spec.TableSpec{{Index: "by_v", Table: jobtest.FreshTableAt(t, env, points("v2"), nil), Key: `v + "|" + k`}}}
		if _, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{s.Table, s.Tables[0].Table} {
			if got, err := c.AdminT(t).Run(t.Context(), "count", table); err != nil || strings.TrimSpace(got) != "2" {
				t.Errorf("%s: table %s has %s rows, %v", duplicates, table, got, err)
			}
		}
		if got, err := c.AdminT(t).Run(t.Context(), "get", s.Tables[0].Table, digest); err != nil || !strings.Contains(got, "k1") {
			t.Errorf("%s: the entry %s is %q, %v", duplicates, digest, got, err)
		}
	}
}

// TestTablesByDirectory loads one directory after the other into a table and its index, is stopped after the first, and checks the totals of all
// directories in each table at the end.
func TestTablesByDirectory(t *testing.T) {
	t.Parallel()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		testcheck.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testcheck.Must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	write("1/x.csv", "k,v\nk1,v1\nk2,v2\n")
	write("2/x.csv", "k,v\nk3,v2\nk4,v4\nk5,v5\n")
	s := spec.Spec{Table: jobtest.FreshTableAt(t, env, points("k3"), nil), Inputs: []string{dir}, Key: "k", Verify: "full",
		Tables: []spec.TableSpec{{Index: "by_v", Table: jobtest.FreshTableAt(t, env, points("v2"), nil), Key: `v + "|" + k`}}}
	o := RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}
	bad := write("2/y.csv", "k,v\nk6\n")
	r, err := RunParts(t.Context(), env, jobtest.Resolve(t, s), o)
	if fail.KindOf(err) != fail.BadRows || r.Parts[0].Status != result.PartDone || r.Parts[1].Status != result.PartFailed {
		t.Fatalf("%+v, %v", r, err)
	}
	testcheck.Must(t, os.Remove(bad))
	for again, statuses := range [][]result.PartStatus{{result.PartAlready, result.PartDone}, {result.PartAlready, result.PartAlready}} {
		r, err := RunParts(t.Context(), env, jobtest.Resolve(t, s), o)
		testcheck.Must(t, err)
		if r.Parts[0].Status != statuses[0] || r.Parts[1].Status != statuses[1] || r.Already != (again == 1) {
			t.Errorf("time %d: %+v", again, r.Parts)
		}
		if len(r.Tables) != 1 || r.Tables[0].Index != "by_v" || r.Manifest.Digest.Rows != 5 || r.Tables[0].Manifest.Digest.Rows != 5 {
			t.Fatalf("time %d: %+v", again, r)
		}
		for _, v := range []*result.Verification{r.Verify, r.Tables[0].Verify} {
			if v == nil || v.Got != v.Want || v.Want.Rows != 5 {
				t.Errorf("time %d: verified %+v", again, v)
			}
		}
	}
	for _, table := range []string{s.Table, s.Tables[0].Table} {
		if got, err := c.AdminT(t).Run(t.Context(), "count", table); err != nil || strings.TrimSpace(got) != "5" {
			t.Errorf("table %s has %s rows, %v", table, got, err)
		}
	}
}

func points(list ...string) (p [][]byte) {
	for _, x := range list {
		p = append(p, []byte(x))
	}
	return p
}

// judgeTables compares each table, read by HBase's own client, with the files of a build without a cluster.
func judgeTables(t *testing.T, c *testcluster.Cluster, env *cluster.Env, s spec.Spec) {
	t.Helper()
	k, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	j := jobtest.Resolve(t, s)
	var shapes []build.Shape
	for _, target := range j.Targets() {
		facts, err := cluster.TableFacts(t.Context(), env, k, target.Table, "f")
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, build.Shape{Families: facts.Families, Splits: facts.Splits})
	}
	out := filepath.Join(t.TempDir(), "out")
	m, err := build.Directories(t.Context(), env, j, shapes, out, build.WorkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, target := range j.Targets() {
		got, err := c.AdminT(t).Digest(t.Context(), target.Table)
		if want := filesDigest(t, filepath.Join(out, target.Dir), m[i]); err != nil || got != want {
			t.Errorf("table %s %s has %s, want %s (%v)", target.Table, target.Index, got, want, err)
		}
		nothingStaged(t, env, target.Table)
	}
}

// filesDigest returns the digest of the rows of a build's files, in the administrator's form.
func filesDigest(t *testing.T, dir string, m *manifest.Manifest) string {
	t.Helper()
	h := sha256.New()
	for _, f := range m.Files {
		r, c, err := filecheck.OpenHFile(t.Context(), hdfsio.Local{}, filepath.Join(dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		x := r.Scan()
		for x.Next() {
			c := x.Cell()
			fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x01", c.Row, c.Family, c.Qualifier, c.Value)
		}
		if err := errors.Join(x.Err(), c.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("rows=%d cells=%d sha256=%x", m.Digest.Rows, m.Digest.Cells, h.Sum(nil))
}

// watchIndexes reads the indexes repeatedly until the context ends, and checks that no entry ever lacks its row. It returns the number of entries
// seen, and how often only some of them existed.
func watchIndexes(ctx context.Context, c *loader.Cluster, s spec.Job, entries int) (seen, some int, err error) {
	data, err := loader.ParseTableName(s.Table)
	if err != nil {
		return 0, 0, err
	}
	for ctx.Err() == nil {
		for _, target := range s.Targets() {
			if target.Index == "" {
				continue
			}
			name, err := loader.ParseTableName(target.Table)
			if err != nil {
				return seen, some, err
			}
			var keys [][]byte
			err = c.Scan(ctx, loader.ScanRequest{Table: name}, func(r loader.Row) error {
				for _, cell := range r.Cells {
					if string(cell.Qualifier) == spec.RowCell {
						keys = append(keys, append([]byte{}, cell.Value...))
					}
				}
				return nil
			})
			if err == nil && len(keys) > 0 {
				if len(keys) < entries {
					some++
				}
				seen += len(keys)
				const step = 500
				for from := 0; from < len(keys) && err == nil; from += step {
					part := keys[from:min(from+step, len(keys))]
					var rows []loader.Row
					if rows, err = c.Rows(ctx, data, part); err == nil {
						for i, r := range rows {
							if len(r.Cells) == 0 {
								return seen, some, fmt.Errorf("index %s has an entry of %q, which is not in the table", target.Index, part[i])
							}
						}
					}
				}
			}
			if err != nil && ctx.Err() == nil {
				return seen, some, err
			}
		}
	}
	return seen, some, nil
}

// watched starts a reader that looks for entries without rows, until stop is called, which may be more than once.
func watched(t *testing.T, env *cluster.Env, s spec.Spec) (stop func()) {
	t.Helper()
	k, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j := jobtest.Resolve(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		seen, some, err := watchIndexes(ctx, k, j, 3000)
		if err != nil {
			t.Error(err)
		}
		t.Logf("the reader saw %d entries, %d times some of an index only", seen, some)
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-over
		k.Close()
	})
}

// TestTablesOnACluster fills three tables and two indexes in one run, while a reader looks for entries without rows; and in runs that are killed
// after records of each table and resumed.
func TestTablesOnACluster(t *testing.T) {
	t.Parallel()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	t.Run("one run", func(t *testing.T) {
		s := tablesJob(t, env)
		j := jobtest.Resolve(t, s)
		stop := watched(t, env, s)
		defer stop()
		state := t.TempDir()
		r, err := Run(t.Context(), env, j, RunOptions{State: checkpoint.Options{Dir: state}})
		stop()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Tables) != 4 || r.Tables[2].Index != "by_date" {
			t.Fatalf("%+v", r.Tables)
		}
		for _, x := range r.Tables {
			if x.Verify == nil || x.Verify.Mode != "full" || x.Verify.Got.Rows != 3000 || x.Regions == 0 || x.Manifest.Digest.Rows != 3000 {
				t.Errorf("%s: %+v, %d regions", x.Table, x.Verify, x.Regions)
			}
		}
		judgeTables(t, c, env, s)
		again, err := Run(t.Context(), env, j, RunOptions{State: checkpoint.Options{Dir: state}})
		if err != nil || !again.Already {
			t.Errorf("again: %v", err)
		}
	})
	t.Run("verified by files", func(t *testing.T) {
		s := tablesJob(t, env)
		s.Verify = "files"
		r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range r.Tables {
			if v := x.Verify; v == nil || v.Mode != "files" || v.Files == nil || v.Files.Files != x.Manifest.HFiles || v.Files.Others != 0 {
				t.Errorf("%s of %d HFiles: %+v", x.Table, x.Manifest.HFiles, v)
			}
		}
	})
	t.Run("killed", func(t *testing.T) {
		name := buildProgram(t)
		kills := []string{"verified:1", "loading:2", "table:4"}
		if os.Getenv("BULKLOAD_FAULTS") != "" {
			kills = []string{"plan", "sorted", "written:9", "built", "loading", "loaded:1", "loaded:5", "loaded", "verified", "table:1", "loading:2", "loaded:7",
				"verified:2", "table:2", "loading:3", "loaded:11", "verified:3", "table:3", "loading:4", "verified:4", "table:4", "loading:5", "verified:5", "done",
				"sending:2", "cleaned:2", "prepared:4", "sending:4", "cleaned:4", "sending:5"}
		}
		for _, after := range kills {
			t.Run(after, func(t *testing.T) {
				t.Parallel() // each has its own tables, and mostly waits for HBase
				s := tablesJob(t, env)
				p := &program{t: t, path: name, cluster: c, env: env, table: s.Table, state: t.TempDir(), input: s.Inputs[0]}
				file := filepath.Join(t.TempDir(), "job.yaml")
				writeTablesJob(t, file, s)
				flags := []string{"--job=" + file, "--timestamp=1700000000000"}
				stop := watched(t, env, s)
				defer stop()
				if code, _, stderr := p.run(after, flags...); code != 128+9 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				code, stdout, stderr := p.run("", flags...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				r := result.Result{}
				if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Tables) != 4 || r.Already != (after == "done") {
					t.Fatalf("%v: %s", err, stdout)
				}
				judgeTables(t, c, env, s)
				if after == "table:4" {
					readThroughIndex(t, env, s)
				}
			})
		}
	})
}

// readThroughIndex finds a row through an index, until a later job gives it another value of the indexed column: then the entry is stale.
func readThroughIndex(t *testing.T, env *cluster.Env, s spec.Spec) {
	t.Helper()
	f, err := os.Open(s.Inputs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := csv.NewReader(f)
	var lines [][]string
	for range 2 {
		line, err := in.Read()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	at := slices.Index(lines[0], "create_date")
	date := lines[1][at]
	rows := func(date string) (n int) {
		t.Helper()
		_, err := query.ReadBy(t.Context(), env, jobtest.Resolve(t, s), "by_date", query.Query{Values: []string{date}}, func(r loader.Row) error {
			n++
			for _, c := range r.Cells {
				if string(c.Qualifier) == "create_date" && string(c.Value) != date {
					t.Errorf("by %s comes a row of %s", date, c.Value)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := rows(date); n != 1 {
		t.Errorf("%d rows of %s", n, date)
	}
	lines[1][at] = "2020-01-01 00:00:00"
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(lines); err != nil {
		t.Fatal(err)
	}
	one := s
	one.Tables, one.Timestamp, one.Inputs = nil, s.Timestamp+1, []string{filepath.Join(t.TempDir(), "changed.csv")}
	if err := os.WriteFile(one.Inputs[0], []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), env, jobtest.Resolve(t, one), RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := rows(date); n != 0 {
		t.Errorf("%d rows of %s, by an entry that is stale", n, date)
	}
}

// writeTablesJob writes the job file, without the fields that the flags of [program.command] set.
func writeTablesJob(t *testing.T, name string, s spec.Spec) {
	t.Helper()
	var b strings.Builder
	b.WriteString("key: " + s.Key + "\nquery: [buss_no, business_type]\ntables:\n")
	for _, x := range s.Tables {
		fmt.Fprintf(&b, "  - table: '%s'\n    key: '%s'\n", x.Table, x.Key)
		if x.Index != "" {
			fmt.Fprintf(&b, "    index: %s\n", x.Index)
		}
		for field, list := range map[string][]string{"columns": x.Columns, "covers": x.Covers, "skip": x.Skip, "query": x.Query} {
			if len(list) > 0 {
				fmt.Fprintf(&b, "    %s: [%s]\n", field, strings.Join(list, ", "))
			}
		}
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
