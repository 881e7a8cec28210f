package job

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// familyTable creates a salted table of several families.
func familyTable(t testing.TB, env *cluster.Env, names ...string) string {
	t.Helper()
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	name := "test:" + testcheck.Name(t)
	parsed, err := loader.ParseTableName(name)
	if err != nil {
		t.Fatal(err)
	}
	spec := loader.TableSpec{Name: parsed, CreateNamespace: true, SplitKeys: partition.SaltSplits(4)}
	for i, f := range names {
		encoding := []string{"FAST_DIFF", "NONE", "DIFF"}[i%3]
		spec.Families = append(spec.Families, loader.Family{Name: f, Compression: "SNAPPY", Encoding: encoding, Bloom: "ROW"})
	}
	jobtest.MakeTable(t, env, c, spec)
	return name
}

// clusterRecords returns rows whose ids begin with a salt.
func clusterRecords(n int) [][]string {
	var records [][]string
	for i := range n {
		text := fmt.Sprintf("拒绝 \"%d\"", i)
		if i%7 == 0 {
			text = ""
		}
		records = append(records, []string{fmt.Sprintf("%d%05d", i%4, i), fmt.Sprint(i - 100), fmt.Sprintf("2017-01-%02d", i%28+1), fmt.Sprint(i%2 == 0), text, "m", fmt.Sprintf("201505240023%02d", i%60), "3000000000"})
	}
	return records
}

func clusterMapping() spec.Mapping {
	seven := "7"
	return spec.Mapping{Cells: []spec.CellSpec{
		{Column: "n", Family: "g", Qualifier: "num", Type: "long"}, {Column: "day", Family: "g", Type: "date"},
		{Column: "flag", Family: "h", Type: "boolean"}, {Value: &seven, Family: "h", Qualifier: "v", Type: "int", Encoding: "phoenix"},
		{JSON: true, Qualifier: "all"}, {Rest: true},
	}}
}

// TestRunMapped loads a job of three families, and compares the cells in HBase's
// own client with cells that were made separately.
func TestRunMapped(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	records := clusterRecords(400)
	input := filepath.Join(t.TempDir(), "rows.dump")
	jobtest.WriteRecords(t, input, records)
	for _, mode := range []string{"full", "sample"} {
		name := familyTable(t, env, "f", "g", "h")
		s := spec.Spec{Table: name, Inputs: []string{input}, Format: "dump", Columns: jobtest.MappedColumns, Key: "id", Query: []string{"id", "n"}, Timestamp: 1700000000000, Verify: mode, Mapping: clusterMapping()}
		o := RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}
		r, err := Run(t.Context(), env, jobtest.Resolve(t, s), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Manifest.Files) != 12 || r.Regions != 4 {
			t.Errorf("%d files in %d regions", len(r.Manifest.Files), r.Regions)
		}
		got, err := cluster.AdminT(t).Run(t.Context(), "digest", name)
		if want := jobtest.ClientDigest(jobtest.PlainCells(t, s, jobtest.MappedColumns, records)); err != nil || got != want {
			t.Errorf("the table has %s, want %s, %v", got, want, err)
		}
		if again, err := Run(t.Context(), env, jobtest.Resolve(t, s), o); err != nil || !again.Already {
			t.Errorf("again: %+v, %v", again, err)
		}
		changed := s
		changed.Skip = []string{"text"}
		if _, err := Run(t.Context(), env, jobtest.Resolve(t, changed), o); fail.KindOf(err) != fail.Check {
			t.Errorf("another mapping: %v", err)
		}
		s.Query = []string{"id"}
		cells := map[string]string{}
		if _, err := query.Read(t.Context(), env, jobtest.Resolve(t, s), query.Query{Values: []string{"100101"}}, func(r loader.Row) error {
			for _, c := range r.Cells {
				cells[string(c.Family)+":"+string(c.Qualifier)] = string(c.Value)
			}
			return nil
		}); err != nil || len(cells) != 10 || cells["g:num"] != "1" || cells["g:day"] != "2017-01-18" || cells["h:flag"] != "false" || cells["h:v"] != "7" {
			t.Errorf("get: %q, %v", cells, err)
		}
		nothingStaged(t, env, name)
	}
}

// TestRunTimed loads cells with timestamps and TTLs from columns, into a table that
// has other cells, and checks that HBase hides expired cells.
func TestRunTimed(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	records := clusterRecords(400)
	dir := t.TempDir()
	input, short := filepath.Join(dir, "rows.dump"), filepath.Join(dir, "short.dump")
	jobtest.WriteRecords(t, input, records)
	for _, mode := range []string{"full", "sample"} {
		name := familyTable(t, env, "f", "g", "h")
		m := clusterMapping()
		m.CellTimestamp = &spec.TimeColumn{Column: "at", Layout: "yyyyMMddHHmmss", Zone: "Asia/Shanghai"}
		m.CellTTL = &spec.TTLColumn{Column: "ttl"}
		s := spec.Spec{Table: name, Inputs: []string{input}, Format: "dump", Columns: jobtest.MappedColumns, Key: "id", Timestamp: 1700000000000, Verify: mode, Mapping: m}
		r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verify.Expired || mode == "full" && r.Verify.Got != r.Manifest.Digest {
			t.Errorf("%+v", r.Verify)
		}
		want := jobtest.PlainCells(t, s, jobtest.MappedColumns, records)
		got, err := cluster.AdminT(t).Run(t.Context(), "digest", name)
		if want := jobtest.ClientDigest(want); err != nil || got != want {
			t.Errorf("the table has %s, want %s, %v", got, want, err)
		}
		line, err := cluster.AdminT(t).Run(t.Context(), "get", name, "100101")
		if err != nil || !strings.Contains(line, fmt.Sprint(want[slices.IndexFunc(want, func(c hfile.Cell) bool { return string(c.Row) == "100101" })].Timestamp)) {
			t.Errorf("get: %s, %v", line, err)
		}
		// Expired TTLs: HBase returns none of these rows.
		over := clusterRecords(40)
		for _, r := range over {
			r[0], r[6], r[7] = r[0]+"x", "20140524002300", "60"
		}
		jobtest.WriteRecords(t, short, over)
		s.Inputs = []string{short}
		r, err = Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{})
		if err != nil || !r.Verify.Expired {
			t.Errorf("%+v, %v", r, err)
		}
		if again, err := cluster.AdminT(t).Run(t.Context(), "digest", name); err != nil || again != got {
			t.Errorf("the table has %s, want %s, %v", again, got, err)
		}
	}
}

// TestRunWide loads rows that are made of many records each, with the job's
// timestamp and with their own.
func TestRunWide(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	records := clusterRecords(400)
	for i, r := range records {
		r[0], r[5] = fmt.Sprintf("%duser%d", i%4, i%12), fmt.Sprintf("post%04d", i*37%1000)
	}
	input := filepath.Join(t.TempDir(), "rows.dump")
	jobtest.WriteRecords(t, input, records)
	for _, mode := range []string{"full", "sample"} {
		for _, stamp := range []*spec.TimeColumn{nil, {Column: "at", Layout: "yyyyMMddHHmmss", Zone: "Asia/Shanghai"}} {
			name := familyTable(t, env, "f", "g")
			m := spec.Mapping{Cells: []spec.CellSpec{{Column: "text", QualifierFrom: "more"}, {Column: "n", Family: "g", QualifierFrom: "more", Type: "long"}, {Column: "id"}}, CellTimestamp: stamp}
			s := spec.Spec{Table: name, Inputs: []string{input}, Format: "dump", Columns: jobtest.MappedColumns, Key: "id", Timestamp: 1700000000000, Verify: mode, Mapping: m, Duplicates: "first"}
			r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Manifest.Digest.Rows != 12 || mode == "full" && r.Verify.Got != r.Manifest.Digest {
				t.Errorf("%s, verified %+v", r.Manifest.Digest, r.Verify)
			}
			want, _ := jobtest.PlainWideCells(t, s, jobtest.MappedColumns, records)
			got, err := cluster.AdminT(t).Run(t.Context(), "digest", name)
			if want := jobtest.ClientDigest(want); err != nil || got != want {
				t.Errorf("the table has %s, want %s, %v", got, want, err)
			}
		}
	}
}

// TestRunMappedAgain stops builds of several families after some files are written,
// and resumes.
func TestRunMappedAgain(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	records := clusterRecords(400)
	input := filepath.Join(t.TempDir(), "rows.dump")
	jobtest.WriteRecords(t, input, records)
	timed := clusterMapping()
	timed.CellTimestamp = &spec.TimeColumn{Column: "at", Layout: "yyyyMMddHHmmss", Zone: "Asia/Shanghai"}
	timed.CellTTL = &spec.TTLColumn{Column: "ttl"}
	wide := timed
	wide.Cells = append(slices.Clone(wide.Cells), spec.CellSpec{Column: "text", Family: "h", QualifierFrom: "id"})
	for _, m := range []spec.Mapping{clusterMapping(), timed, wide} {
		name := familyTable(t, env, "f", "g", "h")
		s := spec.Spec{Table: name, Inputs: []string{input}, Format: "dump", Columns: jobtest.MappedColumns, Key: "id", Timestamp: 1700000000000, Verify: "full", Mapping: m}
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped by the test")
		files := 0
		o := RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}
		o.Workers = 1
		o.Events.OnHFile = func(progress.HFile) {
			if files++; files == 4 {
				cancel(stopped)
			}
		}
		if _, err := Run(ctx, env, jobtest.Resolve(t, s), o); !errors.Is(err, stopped) {
			t.Fatalf("stopped: %v", err)
		}
		o.Events.OnHFile = func(progress.HFile) { files++ }
		before := files
		r, err := Run(t.Context(), env, jobtest.Resolve(t, s), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Manifest.Files) != 12 || files-before >= 12 || r.Verify.Got != r.Manifest.Digest {
			t.Errorf("%d files, %d written now, verified %+v", len(r.Manifest.Files), files-before, r.Verify)
		}
		want, _ := jobtest.PlainWideCells(t, s, jobtest.MappedColumns, records)
		got, err := cluster.AdminT(t).Run(t.Context(), "digest", name)
		if want := jobtest.ClientDigest(want); err != nil || got != want {
			t.Errorf("the table has %s, want %s, %v", got, want, err)
		}
		if again, err := Run(t.Context(), env, jobtest.Resolve(t, s), o); err != nil || !again.Already {
			t.Errorf("again: %+v, %v", again, err)
		}
	}
}
