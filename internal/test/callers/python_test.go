package callers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestPython runs the tests of the Python package with this program, on tables of a cluster. make test-release tests the loading of data frames,
// since it installs the libraries.
func TestPython(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	c := testcluster.Shared(t)
	tables := "python_" + testcheck.Name(t) + "_"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		admin, err := c.Admin(ctx)
		testcheck.Must(t, err)
		for _, name := range []string{"files", "hfiles", "dies"} {
			_, err := admin.Run(ctx, "drop", tables+name)
			testcheck.Must(t, err)
		}
	})
	source := jobtest.Absolute(t, root+"/python/bulkload")
	cmd := exec.CommandContext(t.Context(), "python3", source+"/tests/test_bulkload.py", "-v")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+program(t)+":"+os.Getenv("PATH"), "PYTHONPATH="+source+"/src", "PYTHONDONTWRITEBYTECODE=1", "HADOOP_CONF_DIR="+c.ConfDir(),
		"HBASE_CONF_DIR="+c.ConfDir(), "TABLES="+tables, "WITHOUT_FRAMES=1", "STOPS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	snapshots, err := jobtest.UserFS(t, c, "hbase").ReadDir(t.Context(), "/hbase/.hbase-snapshot")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, s := range snapshots {
		if strings.Contains(s.Name(), tables) {
			t.Errorf("the tests left the snapshot %s", s.Name())
		}
	}
}
