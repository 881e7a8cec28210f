package job

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestLoadUnderscoreFamilies loads files of families whose names begin with an underscore, which HBase allows, and checks that all cells are in the
// table, including those of a file that is in two regions.
func TestLoadUnderscoreFamilies(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	name, err := loader.ParseTableName("test:" + testcheck.Name(t))
	if err != nil {
		t.Fatal(err)
	}
	families := []string{"_cf", "_tmp", "f"}
	table := loader.TableSpec{Name: name, CreateNamespace: true, SplitKeys: [][]byte{[]byte("r00000050")}}
	for _, f := range append(families, build.MergeDir) {
		table.Families = append(table.Families, loader.Family{Name: f})
	}
	jobtest.MakeTable(t, env, c, table)
	fsys, dir, err := env.Resolve("hdfs:///tmp/hfiles-" + testcheck.Name(t))
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

// TestLoadConflictIsRefused checks that two files with different values of one cell are refused, since HBase would show either one. Loaded one after
// the other, the later one is visible.
func TestLoadConflictIsRefused(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	write := func(values ...string) string {
		dir := t.TempDir()
		for i, v := range values {
			c := hfile.Cell{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 5, Type: hfile.Put, Value: []byte(v)}
			jobtest.WriteCells(t, hdfsio.Local{}, path.Join(dir, "f", fmt.Sprintf("%032d", i)), []hfile.Cell{c}, hfile.Options{})
		}
		return dir
	}
	seen := func(table string) string {
		t.Helper()
		got, err := cluster.AdminT(t).Run(t.Context(), "get", table, "r")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	two := []string{strings.Repeat("first ", 3), strings.Repeat("second ", 300)}
	table := jobtest.FreshTableAt(t, env, nil, nil)
	dir := write(two...)
	if _, err := LoadDir(t.Context(), env, table, dir, LoadOptions{Verify: "off"}); fail.KindOf(err) != fail.Input || !strings.Contains(fmt.Sprint(err), "differ in one cell") {
		t.Errorf("two files with other values: %v", err)
	}
	if got := seen(table); got != "" {
		t.Errorf("something is loaded: %s", got)
	}
	for _, v := range two {
		if _, err := LoadDir(t.Context(), env, table, write(v), LoadOptions{Verify: "off"}); err != nil {
			t.Fatal(err)
		}
		if got := seen(table); !strings.Contains(got, v[:6]) {
			t.Errorf("after the load of %.6s: %.80s", v, got)
		}
	}
	if _, err := LoadDir(t.Context(), env, table, write("same", "same"), LoadOptions{Verify: "off"}); err != nil {
		t.Errorf("two files with the same cell: %v", err)
	}
	// Which value HBase shows without the check.
	for _, most := range []int{32, 1} {
		table := jobtest.FreshTableAt(t, env, nil, nil)
		if _, err := LoadDir(t.Context(), env, table, dir, LoadOptions{RunOptions: RunOptions{MaxFiles: most}, Verify: "off", TrustFiles: true}); err != nil {
			t.Fatal(err)
		}
		t.Logf("at most %d files: %.60s", most, seen(table))
	}
}
