package verify

import (
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestStoresOnDefault checks that the stores of HBase's directory without a scheme are on the default file system.
func TestStoresOnDefault(t *testing.T) {
	env := jobtest.Env(t)
	env.Conf.Set("fs.defaultFS", "hdfs://nn:8020", "test")
	env.Conf.Set(cluster.RootDirKey, "/hbase", "test")
	s, err := StoresOf(env)
	testcheck.Must(t, err)
	if _, ok := s.FS.(*hdfsio.HDFS); !ok || s.Root != "/hbase" {
		t.Errorf("%s on %T, want it on HDFS", s.Root, s.FS)
	}
}
