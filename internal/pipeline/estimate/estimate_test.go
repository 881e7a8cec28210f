package estimate

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/partition"
	"bulkload/pkg/source"

	"pgregory.net/rapid"
)

// TestEstimate compares the prediction from a sample of a few percent with the
// build's result, except for times and memory.
func TestEstimate(t *testing.T) {
	env := jobtest.Env(t)
	dir := t.TempDir()
	cases := []struct {
		name   string
		table  data.Table
		form   data.Form
		packed bool
		memory spec.Size
		skew   float64
	}{
		{"dump", data.Check, data.Dump, false, 0, 0},
		{"csv that spills", data.Check, data.CSV, false, 14 << 20, 0},
		{"gzip", data.Check, data.CSV, true, 0, 0},
		{"parquet", data.Check, data.Parquet, false, 0, 0},
		{"opinion", data.Opinion, data.CSV, false, 0, 0},
		{"opinion that spills", data.Opinion, data.Dump, false, 14 << 20, 0.5},
	}
	if race.Reduced(t) {
		cases = cases[1:2]
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			const rows, modulus = 100_000, 10
			input, err := data.WriteFile(t.Context(), dir, data.Spec{Table: c.table, Rows: rows, Seed: 7, Regions: modulus, RegionShare: c.skew}, c.form)
			if err != nil {
				t.Fatal(err)
			}
			if c.packed {
				input = pack(t, input)
			}
			s := jobtest.Spec(t, string(c.table))
			s.Inputs, s.Format, s.Empty = []string{input}, string(c.form), "store"
			s.Timestamp = 1700000000000 // it affects Snappy's compression of blocks by 0.4 % of their bytes
			w := build.WorkOptions{Workers: 2, Memory: c.memory, SpillDir: t.TempDir()}
			splits := partition.SaltSplits(modulus)
			got := smallEstimate(t, env, s, splits, w)
			m, err := build.Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, splits, filepath.Join(t.TempDir(), "out"), w)
			if err != nil {
				t.Fatal(err)
			}
			if got.SampledRows > rows/5 {
				t.Errorf("the sample has %d of %d rows: nothing is estimated", got.SampledRows, rows)
			}
			total := totalBound(got.SampledRows, rows)
			near(t, "rows", got.Rows, m.Records, totalBound(got.CountedRows, rows))
			near(t, "cells", got.Cells, m.Digest.Cells, total)
			near(t, "bytes", got.HFileBytes, m.Bytes, total+fileOverhead(m))
			near(t, "spill", got.SpillBytes, m.SpillBytes, total+runSpread)
			if got.Spills != (m.Runs > 0) || got.HFiles != m.HFiles || len(got.Regions) != modulus {
				t.Errorf("spills %t into %d runs, %d files, %d regions; it was %d runs, %d files", got.Spills, got.Runs, got.HFiles, len(got.Regions), m.Runs, m.HFiles)
			}
			for i, f := range m.Files {
				share := float64(f.Rows) / rows
				bound := shareBound(share, got.CountedRows, rows)
				near(t, fmt.Sprintf("rows of region %d", i), got.Regions[i].Rows, f.Rows, bound/share+totalBound(got.CountedRows, rows))
				near(t, fmt.Sprintf("bytes of region %d", i), got.Regions[i].Bytes, f.Bytes, bound/share+total/math.Sqrt(share)+fileOverhead(m))
			}
			if left, err := os.ReadDir(w.SpillDir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// fileOverhead returns the estimated overhead of HFiles besides their blocks, as
// a fraction of the manifest's bytes: an upper bound of its error.
func fileOverhead(m *manifest.Manifest) float64 {
	return float64(m.HFiles) * build.FileOverhead / float64(m.Bytes)
}

// smallEstimate runs [Run] with a sample of two megabytes.
func smallEstimate(t *testing.T, env *cluster.Env, s spec.Spec, splits [][]byte, w build.WorkOptions) *Estimate {
	t.Helper()
	k, err := build.OpenInput(t.Context(), env.Source, jobtest.Resolve(t, s), build.WorkOptions{SplitSize: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := cells.NewPlan(jobtest.Resolve(t, s), k.Source.Columns(), jobtest.Family, splits, 1)
	if err != nil {
		t.Fatal(err)
	}
	o := BuildOptions{Options: build.Options{Workers: w.Workers, Memory: w.Memory, SpillDir: w.SpillDir, Budget: k.Budget}, readers: oneReader, sample: 2 << 20, count: 8 << 20}
	e, err := Build(t.Context(), plan, k.Source, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// pack creates a gzip copy of a file.
func pack(t *testing.T, name string) string {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(name)+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	z := gzip.NewWriter(out)
	if _, err := io.Copy(z, in); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

// TestEstimateNothing uses an input without records.
func TestEstimateNothing(t *testing.T) {
	s := jobtest.Spec(t, "check")
	empty := filepath.Join(t.TempDir(), "empty.dump")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Inputs, s.Format, s.AllowEmpty = []string{empty}, "dump", true
	e, err := Run(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), Options{})
	if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "HBase's ZooKeeper is unknown") {
		t.Fatalf("without a table and split points: %+v, %v", e, err)
	}
	splits := partition.SaltSplits(10)
	if e, err = Run(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), Options{Splits: &splits}); err != nil || e.Rows != 0 || e.HFiles != 0 || e.Files != 1 {
		t.Errorf("%+v %v", e, err)
	}
}

// TestEstimateWithoutRecords checks that an input without a record to load is refused as by a build, unless the job allows it.
func TestEstimateWithoutRecords(t *testing.T) {
	for _, c := range []struct{ text, filter string }{
		{"id,a\n", ""}, {"\n\n", ""}, {"id,a\n1\n2\n", ""}, {"id,a\n,x\n,y\n", ""}, {"id,a\n1,x\n2,y\n", "a = 'z'"}, {"id,a\n1,x\n2\n", "a = 'z'"},
	} {
		path := filepath.Join(t.TempDir(), "x.csv")
		testcheck.Must(t, os.WriteFile(path, []byte(c.text), 0o600))
		s := spec.Spec{Table: "t", Key: "id", Inputs: []string{path}, Filter: c.filter, BadRecords: "100%"}
		_, want := build.Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), build.WorkOptions{})
		for _, exact := range []bool{false, true} {
			_, err := Run(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), Options{Splits: new([][]byte), Exact: exact})
			if err == nil || want == nil || err.Error() != want.Error() || fail.KindOf(err) != fail.KindOf(want) {
				t.Errorf("%q, exact %t: %v, want %v", c.text, exact, err, want)
			}
		}
		s.AllowEmpty = true
		if e := estimateOf(t, s, nil, Options{}); e.Rows != 0 {
			t.Errorf("%q, which is allowed: %d rows", c.text, e.Rows)
		}
	}
}

func TestParallel(t *testing.T) {
	for _, c := range []struct {
		sizes   []float64
		workers int
		want    float64
	}{{nil, 2, 1}, {[]float64{5}, 2, 1}, {[]float64{1, 1, 1, 1}, 2, 2}, {[]float64{1, 1, 1}, 2, 1.5}, {[]float64{6, 1, 1, 1, 1}, 4, 10.0 / 6}} {
		if got := parallel(c.sizes, c.workers); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v by %d: %v, not %v", c.sizes, c.workers, got, c.want)
		}
	}
	for _, c := range []struct {
		sizes   []float64
		workers int
		want    float64
	}{{nil, 2, 1}, {[]float64{5}, 2, 2}, {[]float64{5}, 16, 1 / ownShare}, {[]float64{1, 1, 1}, 2, 2}, {[]float64{6, 1, 1, 1, 1}, 16, 10 / (6 * ownShare)}} {
		if got := helped(c.sizes, c.workers); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v by %d with help: %v, not %v", c.sizes, c.workers, got, c.want)
		}
	}
	testcheck.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Float64Range(0.1, 100), 1, 30).Draw(t, "sizes")
		workers := rapid.IntRange(1, 9).Draw(t, "workers")
		before := slices.Clone(sizes)
		if got := parallel(sizes, workers); got < 1 || got > float64(min(workers, len(sizes)))+1e-9 || !slices.Equal(before, sizes) {
			t.Fatalf("%v by %d: %v", sizes, workers, got)
		}
	})
}

// Build reads samples of the input and predicts the result of a build of the
// whole input. It writes only, if the build would spill, a part of the spilled
// data, to files without names. Inputs that were opened with short splits are
// sampled better.
func Build(ctx context.Context, plan *cells.Plan, in *source.Input, o BuildOptions) (*Estimate, error) {
	return buildTables(ctx, []tableWork{{plan: plan, options: o}}, in)
}
