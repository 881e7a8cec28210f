// Package testcluster starts a real HDFS, ZooKeeper and HBase on this machine for tests and experiments: NameNode, DataNode,
// ZooKeeper, HMaster and HRegionServer, each in its own JVM, so that a test can kill, pause or restart exactly one of them.
//
// Maven downloads the jars of testdata/cluster/pom.xml into the user's cache directory. The files of a cluster
// (configuration, logs, data) are in one directory and are discarded with it: a stopped cluster cannot be started again with
// its data.
//
// Tests use the process-wide cluster:
//
//	func TestMain(m *testing.M) { testcluster.Main(m) }
//
//	func TestLoad(t *testing.T) {
//		cluster := testcluster.Shared(t)
//		admin := cluster.AdminT(t)
//		…
//	}
//
// A test that harms the cluster or needs another kind gets an exclusive one from [Own], which passes clusters on from test
// to test. A cluster that must outlive the command (cmd/cluster up) or the test process (EnvPool) is started with
// Options.Detached; all others end with the process that started them, however that process ends.
//
// HDFS permissions are enabled. The daemons run as the user hbase, the HDFS superuser; /tmp is open to all and /user/NAME is
// created for the user that starts the cluster.
//
// A cluster with Options.Security has Kerberos, encryption, TLS on HBase's RPC, or several of them. Its KDC is one more
// process, with its files in the cluster's directory: no system files are read or changed. The daemons read conf-daemons,
// which has keytabs; conf is a client's configuration. Tests get such a cluster from [Secured].
//
// A cluster with Options.YARN also has a ResourceManager, NodeManagers and MapReduce's history server, and those of Hadoop's
// client programs that submit jobs ([Cluster.HadoopHome]). Containers run as the user that runs the cluster, in their own
// sessions; they end with the cluster ([Cluster.Containers]).
//
// All methods are safe for concurrent use. Linux only.
package testcluster
