package cluster_test

import (
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
)

// TestRoot checks that HBase's directory without a scheme is on the default file system, as HBase resolves it.
func TestRoot(t *testing.T) {
	for _, c := range []struct{ root, key, usual, want string }{
		{"", "fs.defaultFS", "hdfs://bulk", ""},
		{"/hbase", "fs.defaultFS", "hdfs://bulk", "hdfs://bulk/hbase"},
		{"/hbase", "fs.defaultFS", "HDFS://bulk/", "hdfs://bulk/hbase"},
		{"/hbase", "fs.default.name", "hdfs://nn1:9000/other", "hdfs://nn1:9000/hbase"},
		{"/hbase", "fs.defaultFS", "viewfs://v/", "viewfs://v/hbase"},
		{"/hbase", "fs.defaultFS", "s3a://bucket", "s3a://bucket/hbase"},
		{"/hbase", "fs.defaultFS", "file:///", "file:///hbase"},
		{"/hbase", "fs.defaultFS", "", "/hbase"}, // Hadoop's default is this machine
		{"/hbase", "fs.defaultFS", "hdfs://a%zz", "hdfs:///hbase"},
		{"hdfs://nn1/hbase", "fs.defaultFS", "hdfs://bulk", "hdfs://nn1/hbase"},
		{"file:///hbase", "fs.defaultFS", "hdfs://bulk", "file:///hbase"},
	} {
		env := jobtest.Env(t)
		env.Conf.Set(cluster.RootDirKey, c.root, "test")
		env.Conf.Set(c.key, c.usual, "test")
		if got := cluster.Root(env.Conf); got != c.want {
			t.Errorf("%s with %s = %s: %q, want %q", c.root, c.key, c.usual, got, c.want)
		}
		if got, err := env.RootDir("snapshot s"); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s with %s = %s: %q, %v, want %q", c.root, c.key, c.usual, got, err, c.want)
		}
	}
	env := jobtest.Env(t)
	env.Conf.Set("hbase.zookeeper.quorum", "zk:2181", "test")
	env.Conf.Set(cluster.RootDirKey, "/hbase", "test")
	env.Conf.Set("fs.defaultFS", "viewfs://v", "test")
	if _, err := env.Dial(t.Context()); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "viewfs://v/hbase") {
		t.Errorf("HBase on a viewfs root by default: %v", err)
	}
}
