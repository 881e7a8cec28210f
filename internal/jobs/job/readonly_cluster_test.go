package job

import (
	"archive/zip"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// TestReadOnlyCluster loads into a table whose region servers respond like those of a read-only cluster, and checks that the job is refused with
// HBase's message before it builds anything. A job whose staging directory HBase cannot remove has loaded its rows, with a warning.
func TestReadOnlyCluster(t *testing.T) {
	t.Parallel()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	jar := observerJar(t, c)
	in := filepath.Join(t.TempDir(), "in.csv")
	testcheck.Must(t, os.WriteFile(in, []byte("id,v\nk1,1\nk2,2\n"), 0o600))
	run := func(table string) (built, warned int32, err error) {
		var files, warnings atomic.Int32
		events := progress.Events{OnHFile: func(progress.HFile) { files.Add(1) }, OnWarn: func(msg string, kv ...any) { warnings.Add(1); t.Log(msg, kv) }}
		_, err = Run(t.Context(), env, jobtest.Resolve(t, spec.Spec{Table: table, Inputs: []string{in}, Key: "id", Verify: "full"}),
			RunOptions{WorkOptions: build.WorkOptions{Events: events}, State: checkpoint.Options{Dir: t.TempDir()}})
		return files.Load(), warnings.Load(), err
	}
	built, _, err := run(observedTable(t, env, jar, "prepare"))
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "Operation not allowed in Read-Only Mode") || built != 0 {
		t.Errorf("a cluster that is read-only: %d files were built, %v", built, err)
	}
	table := observedTable(t, env, jar, "cleanup")
	t.Cleanup(func() { // HBase did not
		ctx, fsys := context.WithoutCancel(t.Context()), jobtest.UserFS(t, c, "hbase")
		list, err := fsys.ReadDir(ctx, "/hbase/staging")
		testcheck.Must(t, err)
		for _, x := range list {
			if strings.Contains(x.Name(), strings.ReplaceAll(table, ":", "_")) {
				testcheck.Must(t, fsys.RemoveAll(ctx, "/hbase/staging/"+x.Name()))
			}
		}
	})
	_, warned, err := run(table)
	if err != nil || warned == 0 {
		t.Errorf("a cleanup that is refused: %d warnings, %v", warned, err)
	}
	if out, err := c.AdminT(t).Run(t.Context(), "count", table); err != nil || strings.TrimSpace(out) != "2" {
		t.Errorf("the table has %s rows: %v", out, err)
	}
}

// observedTable creates a table with an observer that refuses one of the calls of a load.
func observedTable(t *testing.T, env *cluster.Env, jar, call string) string {
	t.Helper()
	conn, err := env.Dial(t.Context())
	testcheck.Must(t, err)
	defer conn.Close()
	name := loader.TableName{Namespace: "test", Qualifier: testcheck.Name(t) + "_" + call}
	jobtest.MakeTable(t, env, conn, loader.TableSpec{Name: name, CreateNamespace: true, Families: []loader.Family{{Name: "f", Bloom: "ROW"}},
		Attributes: map[string]string{"coprocessor$1": jar + "|ReadOnlyObserver|1001|in=" + call}})
	return name.String()
}

// observerJar compiles the observer, and writes it to HDFS.
func observerJar(t *testing.T, c *testcluster.Cluster) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "javac", "-nowarn", "-cp", filepath.Join(c.LibDir(), "*"), "-d", dir,
		testcheck.Path(t, "testdata", "cluster", "observer", "ReadOnlyObserver.java")).CombinedOutput()
	if err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	fsys := jobtest.UserFS(t, c, "tina")
	name := "/tmp/" + testcheck.Name(t) + ".jar"
	w, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{Perm: 0o644})
	testcheck.Must(t, err)
	t.Cleanup(func() { _ = fsys.Remove(context.WithoutCancel(t.Context()), name) })
	z := zip.NewWriter(w)
	testcheck.Must(t, z.AddFS(os.DirFS(dir)))
	testcheck.Must(t, z.Close())
	testcheck.Must(t, w.Finish())
	return c.HDFS() + name
}
