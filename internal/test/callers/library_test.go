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

// buildLibrary builds examples/library, a separate module that imports only packages for other modules.
func buildLibrary(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "library")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = testcheck.Path(t, "examples", "library")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestLibraryRefusesEmptyRows runs the example with a key that is empty for a record: HBase has no such row.
func TestLibraryRefusesEmptyRows(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program, which -short leaves out")
	}
	work := t.TempDir()
	testcheck.Must(t, os.WriteFile(filepath.Join(work, "people.csv"), []byte("id,name\n1,Ada\n,Bo\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), buildLibrary(t), "--input", "people.csv", "--out", filepath.Join(work, "out"), "--key", "orempty(id)")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+t.TempDir(), "HBASE_CONF_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "record 2: row key is empty") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(work, "out")); err == nil {
		t.Error("files were written")
	}
}

// TestLibrary runs examples/library: on local disk, and into a table.
func TestLibrary(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	program := buildLibrary(t)
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
