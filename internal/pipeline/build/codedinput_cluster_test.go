package build

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/partition"
)

// TestErasureCodedInput builds from a CSV and a Parquet file of an erasure coded directory, with all DataNodes and with one missing: the
// HFiles are the same as from the local files.
func TestErasureCodedInput(t *testing.T) {
	t.Setenv("HADOOP_USER_NAME", "hbase") // the superuser of HDFS
	c := testcluster.Own(t, testcluster.Coded(3))
	env := jobtest.ClusterEnvAs(t, c, "hbase")
	dir := "/tmp/" + testcheck.Name(t)
	files := func(args ...string) {
		t.Helper()
		_, err := c.JavaClass(t.Context(), "Files", args...)
		testcheck.Must(t, err)
	}
	fsys, _, err := env.Resolve("hdfs://" + dir)
	testcheck.Must(t, err)
	testcheck.Must(t, fsys.MkdirAll(t.Context(), dir, 0o755))
	files("policy", "XOR-2-1-1024k", dir)

	local := t.TempDir()
	table, err := os.ReadFile(jobtest.Export(t, "check.parquet"))
	testcheck.Must(t, err)
	testcheck.Must(t, os.WriteFile(filepath.Join(local, "t.parquet"), table, 0o644))
	text := []byte("id,v\n")
	for i := 0; len(text) < 7<<20; i++ {
		text = fmt.Appendf(text, "k%d,value %d of a row\n", i*7919%1_000_003, i)
	}
	testcheck.Must(t, os.WriteFile(filepath.Join(local, "t.csv"), text, 0o644))
	files("put", local, dir+",dfs.blocksize=2097152")

	built := func(from, name string) string {
		s := jobtest.CSVSpec(from + "/" + name)
		if name == "t.parquet" {
			s = jobtest.Spec(t, "check")
			s.Inputs, s.Timestamp = []string{from + "/" + name}, 1700000000000
		}
		out := t.TempDir()
		_, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), out, WorkOptions{Workers: 2, SplitSize: 900_000})
		if err != nil {
			t.Fatalf("%s/%s: %v", from, name, err)
		}
		return fmt.Sprint(jobtest.Hashes(t, out))
	}
	want := map[string]string{"t.csv": built(local, "t.csv"), "t.parquet": built(local, "t.parquet")}
	for _, dead := range []int{0, 1} {
		for name, want := range want {
			if built("hdfs://"+dir, name) != want {
				t.Errorf("%s without %d DataNodes gives other files", name, dead)
			}
		}
		testcheck.Must(t, c.Daemon(testcluster.DataNode).Kill(t.Context()))
	}
}
