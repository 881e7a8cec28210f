package testcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are the TCP ports of one cluster, all on localhost.
type Ports struct {
	NameNode     int            `json:"namenode"`
	NameNodeHTTP int            `json:"namenode_http"`
	Standby      int            `json:"standby,omitempty"` // of the second NameNode, if there is one
	StandbyHTTP  int            `json:"standby_http,omitempty"`
	Journal      int            `json:"journal,omitempty"` // of the JournalNode, if there is one
	JournalHTTP  int            `json:"journal_http,omitempty"`
	ZooKeeper    int            `json:"zookeeper"`
	Master       int            `json:"master"`
	KDC          int            `json:"kdc,omitempty"` // TCP and UDP, if there is one
	KMS          int            `json:"kms,omitempty"` // of the KMS, if there is one
	DataNode     []DataNodePort `json:"datanode"`
	RegionServer []int          `json:"regionserver"`
	YARN         *YARNPorts     `json:"yarn,omitempty"` // nil without YARN
}

// DataNodePort are the ports of one DataNode.
type DataNodePort struct {
	Data int `json:"data"`
	IPC  int `json:"ipc"`
	HTTP int `json:"http"`
}

// portsNeeded returns the number of ports of a cluster. nodeManagers is 0 without YARN.
func portsNeeded(dataNodes, regionServers, nodeManagers int) (n int) {
	takePorts(func() int { n++; return n }, dataNodes, regionServers, nodeManagers)
	return n
}

func portsFrom(next, dataNodes, regionServers, nodeManagers int) Ports {
	return takePorts(func() int { next++; return next - 1 }, dataNodes, regionServers, nodeManagers)
}

func takePorts(take func() int, dataNodes, regionServers, nodeManagers int) Ports {
	p := Ports{NameNode: take(), NameNodeHTTP: take(), Standby: take(), StandbyHTTP: take(), Journal: take(), JournalHTTP: take(),
		ZooKeeper: take(), Master: take(), KDC: take(), KMS: take()}
	for range dataNodes {
		p.DataNode = append(p.DataNode, DataNodePort{Data: take(), IPC: take(), HTTP: take()})
	}
	for range regionServers {
		p.RegionServer = append(p.RegionServer, take())
	}
	p.YARN = yarnPorts(take, nodeManagers)
	return p
}

// Free ports are searched below 32768, where Linux's range for outgoing connections begins: no client can take one
// between the search and the daemon's start, only another cluster, and two that start together are unlikely to draw
// the same of several thousand ranges.
const (
	lowestFreePort  = 12000
	highestFreePort = 32000
)

func pickPorts(first, dataNodes, regionServers, nodeManagers int) (Ports, error) {
	n := portsNeeded(dataNodes, regionServers, nodeManagers)
	taken := func(first int) (port int, err error) {
		for port = first; port < first+n && err == nil; port++ {
			err = portFree(port)
		}
		return port - 1, err
	}
	if first > 0 {
		if port, err := taken(first); err != nil {
			return Ports{}, fmt.Errorf("test cluster port %d of %d..%d is taken (choose another first port): %w", port, first, first+n-1, err)
		}
		return portsFrom(first, dataNodes, regionServers, nodeManagers), nil
	}
	var last error
	for range 200 {
		first := lowestFreePort + rand.IntN(highestFreePort-lowestFreePort-n)
		if _, last = taken(first); last == nil {
			return portsFrom(first, dataNodes, regionServers, nodeManagers), nil
		}
	}
	return Ports{}, fmt.Errorf("no %d consecutive free ports between %d and %d: %w", n, lowestFreePort, highestFreePort, last)
}

func portFree(port int) error {
	l, err := net.Listen("tcp4", ":"+strconv.Itoa(port))
	if err != nil {
		return errors.Unwrap(err)
	}
	return l.Close()
}

func local(port int) string { return "localhost:" + strconv.Itoa(port) }
