package job

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestLoadRewrites loads two files on HDFS, each with rows in all regions of a
// table that may get one file each: the loader has them cut, and the parts of each
// region merged. HBase shows each row once.
func TestLoadRewrites(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	name := jobtest.FreshTable(t, env, 3, nil)
	stage, err := openStage(t.Context(), env, "", name, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stage.Remove(context.Background()) })
	if err := stage.out.Prepare(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	var cells [2][]hfile.Cell
	for i, c := range jobtest.SomeCells(3000) {
		c.Row = slices.Concat([]byte{'0' + c.Row[2]%3}, c.Row) // 0 to 2
		cells[i/3%2] = append(cells[i/3%2], c)
	}
	prefix, dir := rewrite.SplitURI(stage.Location.URI())
	w := rewrite.New(stage.out.FS, dir, spec.DefaultFamily, 7, new(checkpoint.Job).Check)
	req := loader.LoadRequest{FS: stage.out.FS, Rewriter: w, MaxFiles: 1}
	if req.Table, err = loader.ParseTableName(name); err != nil {
		t.Fatal(err)
	}
	for i := range cells {
		slices.SortFunc(cells[i], func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
		f := jobtest.WriteCells(t, stage.out.FS, path.Join(dir, "f", fmt.Sprintf("%032d", i)), cells[i], hfile.Options{})
		f.Path = prefix + strings.TrimPrefix(f.Path, jobtest.RewriteURI)
		req.Files = append(req.Files, f)
	}
	cut, merged := 0, 0
	req.Events.OnCut = func(_ loader.HFile, children []loader.HFile) error { cut += len(children); return nil }
	req.Events.OnMerged = func(parents []loader.HFile, _ loader.HFile) error { merged += len(parents); return nil }
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	report, err := c.Load(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(len(cells[0]) + len(cells[1])); report.Cells != want || report.Loaded != 3 {
		t.Errorf("loaded %d files with %d cells, want 3 with %d", report.Loaded, report.Cells, want)
	}
	if cut != 6 || merged != 6 {
		t.Errorf("%d parts were cut and %d merged, want 6", cut, merged)
	}
	jobtest.TreeFiles(t, stage.out.FS, dir) // nothing incomplete is left
	got, err := cluster.AdminT(t).Digest(t.Context(), name)
	if err != nil || !strings.HasPrefix(got, "rows=3000 cells=9000 ") {
		t.Errorf("the table has %s, %v", got, err)
	}
}
