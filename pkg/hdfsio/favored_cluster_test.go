package hdfsio

import (
	"bytes"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestNearWithoutTheDisk writes a file near the cluster's only DataNode, which has no disk of the directory's storage policy: HDFS takes another type
// of disk, as it does for a file that is near no server.
func TestNearWithoutTheDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	t.Parallel()
	h := clientOf(t, testcluster.Shared(t), "hbase", nil)
	for _, policy := range []string{"ALL_SSD", "ONE_SSD", "HOT"} {
		dir := "/tmp/" + testcheck.Name(t)
		testcheck.Must(t, h.MkdirAll(t.Context(), dir, 0o755))
		testcheck.Must(t, h.SetStoragePolicy(t.Context(), dir, policy))
		for name, near := range map[string]string{"anywhere": "", "near": "localhost:1"} {
			w, err := h.Create(t.Context(), dir+"/"+name, CreateOptions{Near: near})
			testcheck.Must(t, err)
			_, err = w.Write(bytes.Repeat([]byte("x"), 1<<20))
			if err == nil {
				err = w.Finish()
			}
			if err != nil {
				t.Errorf("%s, near %q: %v", policy, near, err)
				_ = w.Abort()
			}
		}
	}
}
