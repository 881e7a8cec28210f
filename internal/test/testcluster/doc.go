// Package testcluster starts a real HDFS, ZooKeeper and HBase on this machine for tests and for trying
// things out: NameNode, DataNode, ZooKeeper, HMaster and HRegionServer, each a JVM of its own, so that
// a test can kill, pause or restart exactly one of them.
//
// The jars come from testdata/cluster/pom.xml by Maven and are kept in the user's cache directory. What
// a cluster writes (configuration, logs, data) is in one directory and is discarded with it: a stopped
// cluster cannot be started again with its data.
//
// Tests take the process-wide cluster:
//
//	func TestMain(m *testing.M) { testcluster.Main(m) }
//
//	func TestLoad(t *testing.T) {
//		cluster := testcluster.Shared(t)
//		admin := cluster.AdminT(t)
//		…
//	}
//
// or, when they do harm to it or need another kind, one for themselves by [Own], which hands clusters on from
// test to test. A cluster that must outlive the command (cmd/cluster up) or the test process (EnvPool) is started
// with Options.Detached; everything else dies with the process that started it, by whatever way that process ends.
//
// HDFS permissions are on. The daemons run as the user hbase, the HDFS superuser; /tmp is open to
// all and /user/NAME is made for the user that starts the cluster.
//
// A cluster with Options.Security has Kerberos, encryption, TLS on HBase's RPC, or several of them. Its KDC
// is one more process, with its files in the cluster's directory: nothing of the system is read or changed.
// The daemons read conf-daemons, which has keytabs; conf is what a client would have. Tests take one by
// [Secured].
//
// A cluster with Options.YARN has a ResourceManager, NodeManagers and MapReduce's history server too, and of Hadoop's
// client programs what submits jobs ([Cluster.HadoopHome]). Containers run as the user that runs the cluster, in sessions of
// their own; they end with the cluster ([Cluster.Containers]).
//
// All methods may be called from several goroutines. Linux only.
package testcluster
