package hdfsio

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestCodedZone reads files that Hadoop wrote to a directory that is in an encryption zone and has an erasure coding policy, from start to
// end and at random places, also without one of the DataNodes. Hadoop's own read gives the expected bytes.
func TestCodedZone(t *testing.T) {
	if testing.Short() {
		t.Skip("needs DataNodes and a KMS")
	}
	t.Setenv("HADOOP_USER_NAME", "hbase") // the superuser of HDFS
	o := testcluster.Coded(3)
	o.KMS, o.Zones = true, map[string]string{"/zone": testcluster.ZoneKey}
	c := testcluster.Own(t, o)
	h := clientOf(t, c, "hbase", nil)
	dir := "/zone/" + testcheck.Name(t)
	testcheck.Must(t, h.MkdirAll(t.Context(), dir, 0o755))
	_, err := c.JavaClassAs(t.Context(), testcluster.HDFSAdmin, "Files", "policy", "XOR-2-1-1024k", dir)
	testcheck.Must(t, err)
	local := t.TempDir()
	in, out := filepath.Join(local, "in"), filepath.Join(local, "out")
	testcheck.Must(t, os.Mkdir(in, 0o755))
	sizes := []int{1, 1000, 1<<20 + 1, 5<<20 + 7}
	for _, n := range sizes {
		testcheck.Must(t, os.WriteFile(filepath.Join(in, fmt.Sprint(n)), marked(n, "coded"), 0o644))
	}
	_, err = c.FsShell(t.Context(), []string{"-put", in, dir + "/in"}, []string{"-get", dir + "/in", out})
	testcheck.Must(t, err)
	r := testcheck.Rand(t)
	equal := func(what string) {
		t.Helper()
		for _, n := range sizes {
			want, err := os.ReadFile(filepath.Join(out, fmt.Sprint(n)))
			testcheck.Must(t, err)
			name := fmt.Sprintf("%s/in/%d", dir, n)
			if got := readFile(t, h, name); !bytes.Equal(got, want) {
				t.Errorf("%s, %d bytes: another file than Hadoop reads", what, n)
			}
			readPlaces(t, h, name, want, r)
		}
	}
	equal("all DataNodes")
	testcheck.Must(t, c.Daemon(testcluster.DataNode.Nth(2)).Kill(t.Context()))
	equal("without a DataNode")
}
