package callers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestLibrary builds examples/library, a separate module that imports only packages for other modules, and runs it: on local disk, and into
// a table.
func TestLibrary(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	program := filepath.Join(t.TempDir(), "library")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = testcheck.Path(t, "examples", "library")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	work := t.TempDir()
	testcheck.Must(t, os.WriteFile(filepath.Join(work, "people.csv"), []byte("id,name\n1,Ada\n2,Bo\n3,\"Eve, the third\"\n"), 0o600))
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	run := func(want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append([]string{"--input", "people.csv"}, args...)...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+c.ConfDir(), "HBASE_CONF_DIR="+c.ConfDir(), "HADOOP_USER_NAME=tina")
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Fatalf("%v: %v\n%swant\n%s", args, err, out, want)
		}
	}
	const rows = "02 f:id = 2\n02 f:name = Bo\n13 f:id = 3\n13 f:name = Eve, the third\n91 f:id = 1\n91 f:name = Ada\n"
	run(rows, "--out", t.TempDir())

	table := jobtest.FreshTable(t, env, 10, nil)
	dir := "/tmp/library-" + testcheck.Name(t)
	mine := jobtest.UserFS(t, c, "tina")
	t.Cleanup(func() { testcheck.Must(t, mine.RemoveAll(context.WithoutCancel(t.Context()), dir)) })
	run(rows+"3 files loaded into 3 regions\n", "--out", "hdfs://"+dir, "--table", table)
	digest, err := c.AdminT(t).Digest(t.Context(), table)
	testcheck.Must(t, err)
	if !strings.HasPrefix(digest, "rows=3 cells=6 ") {
		t.Errorf("HBase's client sees %s", digest)
	}
}
