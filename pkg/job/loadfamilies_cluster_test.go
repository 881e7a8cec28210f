package job

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"bulkload/internal/jobtest"
	"bulkload/internal/testcluster"
	"bulkload/pkg/build"
	"bulkload/pkg/fail"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestLoadUnderscoreFamilies loads files of families whose names begin with an underscore, which HBase allows: all cells are in
// the table, those of a file that lies in two regions too.
func TestLoadUnderscoreFamilies(t *testing.T) {
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	name, err := loader.ParseTableName(fmt.Sprintf("test:t%x", rand.Uint64()))
	if err != nil {
		t.Fatal(err)
	}
	families := []string{"_cf", "_tmp", "f"}
	table := loader.TableSpec{Name: name, CreateNamespace: true, SplitKeys: [][]byte{[]byte("r00000050")}}
	for _, f := range append(families, build.MergeDir) {
		table.Families = append(table.Families, loader.Family{Name: f})
	}
	jobtest.MakeTable(t, env, c, table)
	fsys, dir, err := env.Resolve(fmt.Sprintf("hdfs:///tmp/hfiles-%x", rand.Uint64()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.RemoveAll(context.WithoutCancel(t.Context()), dir) })
	cells := 0
	for i, f := range families {
		list := cellsOf(f, 100)
		cells += len(list)
		jobtest.WriteCells(t, fsys, path.Join(dir, f, fmt.Sprintf("%032d", i)), list, hfile.Options{Family: []byte(f)})
	}
	if err := fsys.MkdirAll(t.Context(), path.Join(dir, build.MergeDir), 0o755); err != nil {
		t.Fatal(err)
	}
	o := LoadOptions{Verify: "full"}
	if _, err := LoadDir(t.Context(), env, name.String(), "hdfs://"+dir, o); fail.KindOf(err) != fail.Check || !strings.Contains(fmt.Sprint(err), build.MergeDir) {
		t.Fatalf("a family of the name of what is passed over: %v", err)
	}
	if err := fsys.RemoveAll(t.Context(), path.Join(dir, build.MergeDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadDir(t.Context(), env, name.String(), "hdfs://"+dir, o); err != nil {
		t.Fatal(err)
	}
	if got, err := cluster.AdminT(t).Digest(t.Context(), name.String()); err != nil || !strings.HasPrefix(got, fmt.Sprintf("rows=100 cells=%d ", cells)) {
		t.Errorf("the table has %s, want %d cells, %v", got, cells, err)
	}
}
