package testcluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Role names one daemon of a cluster. The first of each kind has the plain name, further ones a number:
// "regionserver", "regionserver-2".
type Role string

// The roles. Every cluster has all except these: KDC needs Kerberos, KMS needs Options.KMS, JournalNode needs two NameNodes, and the last
// three need YARN.
const (
	KDC          Role = "kdc"
	KMS          Role = "kms"
	JournalNode  Role = "journalnode"
	NameNode     Role = "namenode"
	DataNode     Role = "datanode"
	ZooKeeper    Role = "zookeeper"
	Master       Role = "master"
	RegionServer Role = "regionserver"

	ResourceManager Role = "resourcemanager"
	NodeManager     Role = "nodemanager"
	HistoryServer   Role = "historyserver" // of MapReduce
)

// Nth returns the role of the n-th daemon of r's kind, counted from 1.
func (r Role) Nth(n int) Role {
	if n <= 1 {
		return r.base()
	}
	return Role(fmt.Sprintf("%s-%d", r.base(), n))
}

func (r Role) base() Role {
	name, _, _ := strings.Cut(string(r), "-")
	return Role(name)
}

// part is the part of a cluster that decides whose jars a daemon uses. Without one it uses those of the cluster's own version of Hadoop.
type part int

const (
	ofHDFS part = iota + 1
	ofHBase
	ofYARN
)

// kinds describes the kinds of daemons. class and heapMB are the main class and the default heap of a JVM. probe checks once whether the daemon
// serves; the error describes what is missing.
var kinds = map[Role]struct {
	part   part
	class  string
	heapMB int
	probe  func(*Cluster, context.Context, Role) error
}{
	KDC:          {probe: (*Cluster).probeKDC},
	KMS:          {0, "org.apache.hadoop.crypto.key.kms.server.KMSWebServer", 192, (*Cluster).probeKMS},
	JournalNode:  {ofHDFS, "org.apache.hadoop.hdfs.qjournal.server.JournalNode", 128, (*Cluster).probeJournalNode},
	NameNode:     {ofHDFS, "org.apache.hadoop.hdfs.server.namenode.NameNode", 256, (*Cluster).probeNameNode},
	DataNode:     {ofHDFS, "org.apache.hadoop.hdfs.server.datanode.DataNode", 256, (*Cluster).probeDataNode},
	ZooKeeper:    {0, "org.apache.zookeeper.server.quorum.QuorumPeerMain", 128, (*Cluster).probeZooKeeper},
	Master:       {ofHBase, "org.apache.hadoop.hbase.master.HMaster", 384, (*Cluster).probeMaster},
	RegionServer: {ofHBase, "org.apache.hadoop.hbase.regionserver.HRegionServer", 1024, (*Cluster).probeRegionServer},

	ResourceManager: {ofYARN, "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager", 256, (*Cluster).probeResourceManager},
	NodeManager:     {ofYARN, "org.apache.hadoop.yarn.server.nodemanager.NodeManager", 256, (*Cluster).probeNodeManager},
	HistoryServer:   {ofYARN, "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", 192, (*Cluster).probeHistoryServer},
}

func (r Role) part() part { return kinds[r.base()].part }

// index returns the number of the daemon in its kind, from 0.
func (r Role) index() int {
	_, number, ok := strings.Cut(string(r), "-")
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(number)
	return n - 1
}

// startOrder returns the roles in the order of their dependencies. Stop uses the reverse order.
func startOrder(kdc, kms bool, nameNodes, dataNodes, regionServers, nodeManagers int) []Role {
	var roles []Role
	if kdc {
		roles = append(roles, KDC)
	}
	if kms {
		roles = append(roles, KMS)
	}
	if nameNodes > 1 {
		roles = append(roles, JournalNode)
	}
	roles = append(roles, NameNode)
	for i := 1; i < nameNodes; i++ {
		roles = append(roles, NameNode.Nth(i+1))
	}
	roles = append(roles, ZooKeeper)
	for i := range dataNodes {
		roles = append(roles, DataNode.Nth(i+1))
	}
	roles = append(roles, Master)
	for i := range regionServers {
		roles = append(roles, RegionServer.Nth(i+1))
	}
	if nodeManagers > 0 {
		roles = append(roles, ResourceManager)
		for i := range nodeManagers {
			roles = append(roles, NodeManager.Nth(i+1))
		}
		roles = append(roles, HistoryServer)
	}
	return roles
}
