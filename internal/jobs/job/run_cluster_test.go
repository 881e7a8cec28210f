package job

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/verify"
	"bulkload/internal/serve/query"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// TestRun loads check and opinion in every format, and checks with HBase's own
// client that the table has exactly the rows of the exports.
func TestRun(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	for _, c := range []struct {
		table, file, empty, verify string
		salts                      int
		family                     func(*loader.Family)
	}{
		{"check", "check.csv", "skip", "full", 10, nil},
		{"check", "check.dump", "store", "sample", 10, nil},
		{"check", "check.parquet", "skip", "sample", 10, nil},
		{"opinion", "opinion.csv", "skip", "full", 50, nil},
		{"opinion", "opinion.parquet", "store", "sample", 50, nil},
		{"check", "check.csv", "skip", "full", 10, func(f *loader.Family) { f.Compression, f.Encoding, f.Bloom = "NONE", "NONE", "NONE" }},
	} {
		t.Run(c.file+" "+c.empty, func(t *testing.T) {
			t.Parallel()
			env := jobtest.ClusterEnv(t, cluster)
			name := jobtest.FreshTable(t, env, c.salts, c.family)
			s := jobtest.Spec(t, c.table)
			s.Table, s.Empty, s.Verify = name, c.empty, c.verify
			s.Inputs = []string{jobtest.Export(t, c.file)}
			r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Regions != len(r.Manifest.Files) || r.Regions < c.salts-1 || r.Verify.Mode != c.verify {
				t.Errorf("%d regions, verified %+v", r.Regions, r.Verify)
			}
			got, err := cluster.AdminT(t).Run(t.Context(), "digest", name)
			if err != nil {
				t.Fatal(err)
			}
			if want := jobtest.DigestLine(t, c.table, c.empty); got != want {
				t.Errorf("the table has %s, want %s", got, want)
			}
			nothingStaged(t, env, name)
		})
	}
}

// nothingStaged checks that no run into a table has left anything in its staging directory.
func nothingStaged(t testing.TB, env *cluster.Env, table string) {
	t.Helper()
	fsys, p, err := env.Resolve("hdfs:///tmp/bulkload-tina")
	if err != nil {
		t.Fatal(err)
	}
	left, err := fsys.ReadDir(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if strings.HasPrefix(f.Name(), strings.ReplaceAll(table, ":", "_")+"-") {
			t.Errorf("staging holds %s", f.Name())
		}
	}
}

// TestGet reads every row of some query keys, fast.
func TestGet(t *testing.T) {
	t.Parallel()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	name := jobtest.FreshTable(t, env, 10, nil)
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs, s.Verify = name, []string{jobtest.Export(t, "check.csv")}, "off"
	if _, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(jobtest.Export(t, "check.dump"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for rec := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{0x10}), []byte{0x10}) {
		want[string(bytes.Split(rec, []byte{1})[1])]++
	}
	n := 0
	for id, rows := range want {
		got := 0
		st, err := query.Read(t.Context(), env, jobtest.Resolve(t, s), query.Query{Values: []string{id}}, func(r loader.Row) error {
			got++
			return nil
		})
		if err != nil || got != rows || st.Rows != rows {
			t.Errorf("%s: %d rows, want %d, %v", id, got, rows, err)
		}
		if n++; n == 10 {
			t.Logf("find the cluster %s, read %d rows %s", st.Dial, st.Rows, st.Scan)
			break
		}
	}
	if _, err := query.Read(t.Context(), env, jobtest.Resolve(t, s), query.Query{Values: []string{"NONE"}}, func(loader.Row) error { t.Error("a row of no key"); return nil }); err != nil {
		t.Error(err)
	}
}

// TestBuildThenLoad writes HFiles to HDFS with build and loads them with load.
func TestBuildThenLoad(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	name := jobtest.FreshTable(t, env, 10, nil)
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{jobtest.Export(t, "check.csv")}
	dir := "hdfs:///tmp/hfiles-" + testcheck.Name(t)
	m, err := build.Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), dir, build.WorkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := LoadDir(t.Context(), env, name, dir, LoadOptions{Verify: "full"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verify == nil || r.Verify.Got != m.Digest {
		t.Errorf("verification: %+v", r.Verify)
	}
	got, err := cluster.AdminT(t).Run(t.Context(), "digest", name)
	if want := jobtest.DigestLine(t, "check", "skip"); got != want || err != nil {
		t.Errorf("the table has %s, want %s, %v", got, want, err)
	}
	if _, err := LoadDir(t.Context(), env, name, dir, LoadOptions{Verify: "full"}); fail.KindOf(err) != fail.Input {
		t.Errorf("a directory loaded twice: %v", err)
	}
}

// TestLoadLocalFiles uploads the files of a local build, which are kept.
func TestLoadLocalFiles(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	name := jobtest.FreshTable(t, env, 10, nil)
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{jobtest.Export(t, "check.csv")}
	dir := t.TempDir()
	if _, err := build.Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), dir, build.WorkOptions{}); err != nil {
		t.Fatal(err)
	}
	before := jobtest.Hashes(t, dir)
	if _, err := LoadDir(t.Context(), env, name, dir, LoadOptions{Verify: "full"}); err != nil {
		t.Fatal(err)
	}
	got, err := cluster.AdminT(t).Digest(t.Context(), name)
	if want := jobtest.DigestLine(t, "check", "skip"); got != want || err != nil {
		t.Errorf("the table has %s, want %s, %v", got, want, err)
	}
	if fmt.Sprint(jobtest.Hashes(t, dir)) != fmt.Sprint(before) {
		t.Error("the local files have changed")
	}
	nothingStaged(t, env, name)
}

// TestInputsOnHDFS reads a directory of dumps on HDFS, and skips entries that are not inputs.
func TestInputsOnHDFS(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	name := jobtest.FreshTable(t, env, 10, nil)
	fsys, dir, err := env.Resolve("hdfs:///tmp/exports-" + testcheck.Name(t) + "/20171012")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(jobtest.Export(t, "check.dump"))
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.IndexByte(b[len(b)/2:], 0x10) + len(b)/2 + 1
	for file, content := range map[string][]byte{"part-0": b[:half], "part-1": b[half:], "_SUCCESS": nil, "_temporary/x": []byte("x"), ".part-2.crc": []byte("x")} {
		p := filepath.Join(dir, file)
		if err := fsys.MkdirAll(t.Context(), filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		w, err := fsys.Create(t.Context(), p, hdfsio.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs, s.Verify = name, []string{"hdfs://" + filepath.Dir(dir) + "/2017*"}, "full"
	r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Manifest.Records != 3000 {
		t.Errorf("%d records", r.Manifest.Records)
	}
	got, err := cluster.AdminT(t).Digest(t.Context(), name)
	if want := jobtest.DigestLine(t, "check", "skip"); got != want || err != nil {
		t.Errorf("the table has %s, want %s, %v", got, want, err)
	}
}

// TestRegionSplitMeanwhile builds for the table's regions and splits one: its file
// is cut and loaded, and removed so that it is not loaded again.
func TestRegionSplitMeanwhile(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	name := jobtest.FreshTable(t, env, 3, nil)
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{jobtest.Export(t, "check.csv")}
	dir := "hdfs:///tmp/hfiles-" + testcheck.Name(t)
	if _, err := build.Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(3), dir, build.WorkOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.AdminT(t).Run(t.Context(), "split", name, "18"); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadDir(t.Context(), env, name, dir, LoadOptions{Verify: "full"}); err != nil {
		t.Fatal(err)
	}
	fsys, p, err := env.Resolve(dir + "/f")
	if err != nil {
		t.Fatal(err)
	}
	if left, err := fsys.ReadDir(t.Context(), p); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	got, err := cluster.AdminT(t).Digest(t.Context(), name)
	if !strings.HasPrefix(got, "rows=3000 cells=43426 ") || err != nil {
		t.Errorf("the table has %s, %v", got, err)
	}
	// A later run finds the salt's modulus despite the additional region.
	s.Table, s.Verify = name, "full"
	r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Manifest.Modulus != 3 || r.Regions != 4 {
		t.Errorf("modulus %d, %d regions", r.Manifest.Modulus, r.Regions)
	}
}

// TestVerifyFinds changes the table after a run, and checks that verification finds it.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	servers := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, servers)
	name := jobtest.FreshTable(t, env, 10, nil)
	s := jobtest.Spec(t, "check")
	s.Table, s.Timestamp = name, time.Now().UnixMilli()
	s.Inputs = []string{jobtest.Export(t, "check.csv")}
	r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	facts, err := cluster.TableFacts(t.Context(), env, c, name, "f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verify.Full(t.Context(), c, facts, r.Manifest, progress.Events{}); err != nil {
		t.Errorf("nothing was changed: %v", err)
	}
	wrong := *r.Manifest
	wrong.Digest.Sum++
	if _, err := verify.Full(t.Context(), c, facts, &wrong, progress.Events{}); fail.KindOf(err) != fail.Verify {
		t.Errorf("another digest: %v", err)
	}
	wrong = *r.Manifest
	wrong.Samples = []manifest.Sample{{Key: []byte("0nothing")}}
	if _, err := verify.Sample(t.Context(), c, facts, &wrong); fail.KindOf(err) != fail.Verify {
		t.Errorf("a row that is not there: %v", err)
	}
	// Sampled rows of a region are read together: one is missing before others, between them, or after all.
	if len(r.Manifest.Samples) < 4 {
		t.Fatalf("%d rows are sampled", len(r.Manifest.Samples))
	}
	for i, s := range r.Manifest.Samples {
		wrong.Samples = slices.Concat(r.Manifest.Samples[:i+1], []manifest.Sample{{Key: append(slices.Clone(s.Key), 0)}}, r.Manifest.Samples[i+1:])
		if _, err := verify.Sample(t.Context(), c, facts, &wrong); fail.KindOf(err) != fail.Verify {
			t.Errorf("a row behind sampled row %d that is not there: %v", i, err)
		}
	}
}

// TestTableIsNotFit checks that the problems of a table are reported before anything is read.
func TestTableIsNotFit(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{jobtest.Export(t, "check.csv")}
	run := func(table, family string) error {
		s.Table, s.Family = table, family
		_, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{})
		return err
	}
	name := jobtest.FreshTable(t, env, 2, nil)
	disabled := jobtest.FreshTable(t, env, 2, nil)
	if _, err := cluster.AdminT(t).Run(t.Context(), "disable", disabled); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"table create": run("test:none", "f"),
		`"g"`:          run(name, "g"),
		"disabled":     run(disabled, "f"),
	} {
		if fail.KindOf(err) != fail.Check || !strings.Contains(strings.ToLower(fmt.Sprint(err)), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
