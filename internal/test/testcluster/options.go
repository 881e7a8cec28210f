package testcluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"
)

// Options configure a cluster. The zero value is one daemon of each role, on free ports, in a temporary directory.
type Options struct {
	// Dir is the directory for the cluster's configuration, logs and data. It must not hold a running cluster; files
	// of an earlier one are removed first. Default: a temporary directory, removed by Stop.
	Dir string

	// Port is the first of the cluster's consecutive TCP ports: seven and three for each DataNode, one for each
	// region server; with YARN eight and four for each NodeManager. Default: a free range.
	Port int

	// RegionServers is the number of region servers, at most 9. Default 1.
	RegionServers int

	// DataNodes is the number of DataNodes, at most 14, the number that RS-10-4 needs; dfs.replication is the smaller of it
	// and 3. Default 1.
	DataNodes int

	// Hosts gives the n-th DataNode and the n-th region server the address 127.0.0.n, as if each had its own host.
	Hosts bool

	// HostsFile has host names for the daemons, which this machine need not know.
	HostsFile string

	// Storages are the storage types of each DataNode's directories: SSD, DISK, ARCHIVE. Default: one DISK.
	Storages []string

	// HA starts a second NameNode, which shares the edit log with the first through a JournalNode. Clients and HBase
	// then use the nameservice [Nameservice]. The first is active; see [Cluster.Failover].
	HA bool

	// YARN also starts a ResourceManager, NodeManagers and MapReduce's history server. See [Cluster.HadoopHome].
	YARN bool

	// NodeManagers is the number of NodeManagers, at most 9, with YARN only. Default 2, each with [NodeMemoryMB] for
	// containers.
	NodeManagers int

	// KMS starts a key management server with the keys of encryption zones.
	KMS bool

	// Zones are the initial encryption zones: directories by their keys; with KMS only. "/hbase": HBase's root.
	Zones map[string]string

	// WithoutHBase omits ZooKeeper and HBase, for tests that use only HDFS and YARN.
	WithoutHBase bool

	// HBase is the version of HBase, one of [Versions]. Default: that of [EnvHBase], otherwise [DefaultHBase].
	HBase string

	// Hadoop is the version of HDFS, one of [Hadoops]. Default: [DefaultHadoop].
	Hadoop string

	// Security defines the authentication of clients and the encryption. Default: neither.
	Security Security

	// HeapMB is the Java heap of each process of a role, in MiB. Default: NameNode 256, DataNode 256,
	// ZooKeeper 128, Master 384, RegionServer 1024, ResourceManager 256, NodeManager 256, HistoryServer 192.
	HeapMB map[Role]int

	// Measured is for clusters whose speed is measured: their region servers also compile with the JVM's optimising compiler, like
	// production servers. Others start faster without it.
	Measured bool

	// CoreSite and the others are properties that override those of the package.
	CoreSite, HDFSSite, HBaseSite, YARNSite, MapredSite map[string]string

	// StartTimeout limits Start, without downloads, and each WaitReady whose context has no deadline. Default 2
	// minutes: an idle 2-core machine needs about 10 s, a busy one many times that. With Security 10 minutes: an idle
	// one needs about 25 s. With YARN 2 minutes more.
	StartTimeout time.Duration

	// Detached gives the daemons their own session, so that they outlive this process. Otherwise the kernel kills
	// them when this process ends.
	Detached bool

	// Log receives events, at debug level and above. Default: no log.
	Log *slog.Logger
}

const (
	defaultStartTimeout = 4 * time.Minute
	maxPerRole          = 9
	maxDataNodes        = 14
)

func (o Options) withDefaults() Options {
	o.RegionServers = max(o.RegionServers, 1)
	o.DataNodes = max(o.DataNodes, 1)
	if o.YARN {
		o.NodeManagers = cmp.Or(o.NodeManagers, 2)
	}
	o.HBase = cmp.Or(o.HBase, defaultHBase())
	o.Hadoop = cmp.Or(o.Hadoop, DefaultHadoop)
	o.Security = o.Security.withDefaults()
	if o.StartTimeout <= 0 {
		o.StartTimeout = startTimeout(o.Security, o.YARN)
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	heap := make(map[Role]int, len(kinds))
	for role, k := range kinds {
		heap[role] = k.heapMB
		if n := o.HeapMB[role]; n > 0 {
			heap[role] = n
		}
	}
	o.HeapMB = heap
	return o
}

func (o Options) nameNodes() int {
	if o.HA {
		return 2
	}
	return 1
}

// Validate returns an error for the first option that cannot be fulfilled.
func (o Options) Validate() error {
	if o.RegionServers > maxPerRole || o.DataNodes > maxDataNodes {
		return fmt.Errorf("test cluster: %d region servers and %d data nodes asked for, at most %d and %d",
			o.RegionServers, o.DataNodes, maxPerRole, maxDataNodes)
	}
	if o.NodeManagers < 0 || o.NodeManagers > maxPerRole || o.NodeManagers > 0 && !o.YARN {
		return fmt.Errorf("test cluster: %d node managers asked for, at most %d, and none without YARN", o.NodeManagers, maxPerRole)
	}
	if o.Port < 0 || o.Port > 65535-portsNeeded(maxDataNodes, maxPerRole, maxPerRole) {
		return fmt.Errorf("test cluster: first port %d leaves no room for a cluster's ports", o.Port)
	}
	if o.Detached && o.Dir == "" {
		return errors.New("test cluster: a detached cluster needs Options.Dir, else nothing finds it again")
	}
	for role := range o.HeapMB {
		if kinds[role].heapMB == 0 {
			return fmt.Errorf("test cluster: heap given for %q, which is not a role", role)
		}
	}
	for dir := range o.Zones {
		if !o.KMS || !path.IsAbs(dir) {
			return fmt.Errorf("test cluster: the encryption zone %q needs a KMS and an absolute path", dir)
		}
	}
	if o.HBase != "" {
		if err := validVersion(o.HBase); err != nil {
			return err
		}
	}
	if o.Hadoop != "" && !slices.Contains(Hadoops(), o.Hadoop) {
		return fmt.Errorf("test cluster: no jars are known of Hadoop %s; there are %s", o.Hadoop, strings.Join(Hadoops(), ", "))
	}
	return o.Security.validate()
}
