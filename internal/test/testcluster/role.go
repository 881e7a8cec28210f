package testcluster

import (
	"fmt"
	"slices"
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

// ofHBase reports whether only HBase needs a role.
func (r Role) ofHBase() bool {
	return slices.Contains([]Role{ZooKeeper, Master, RegionServer}, r.base())
}

// ofHDFS reports whether a role is part of HDFS.
func (r Role) ofHDFS() bool {
	return slices.Contains([]Role{JournalNode, NameNode, DataNode}, r.base())
}

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
