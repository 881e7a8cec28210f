package cluster

import (
	"net"
	"slices"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// Keys of hbase-site.xml with which clients find the cluster without ZooKeeper.
const (
	registryImpl     = "hbase.client.registry.impl"
	bootstrapServers = "hbase.client.bootstrap.servers"
	masterServers    = "hbase.masters"
	quorumServers    = "hbase.zookeeper.quorum"
	secureZooKeeper  = "hbase.zookeeper.property.client.secure"
)

// defaultMasterPort is the port of servers in hbase.masters that have none (HConstants.DEFAULT_MASTER_PORT).
const defaultMasterPort = "16000"

// Registry locates HBase: by ZooKeeper, or by servers that answer as its RPC registry.
type Registry struct {
	Quorum  string   // host:port of each ZooKeeper server, separated by commas; empty: Servers are used
	Servers []string // host:port of each server; empty if there is a Quorum
	Masters bool     // Servers are masters, from hbase.masters
	Key     string   // the configuration key that names the servers
}

// FindRegistry chooses between ZooKeeper and the RPC registry. As in HBase's own clients, hbase.client.registry.impl decides if it
// is set. Otherwise the first of these that is configured is used: a quorum, hbase.client.bootstrap.servers, hbase.masters. The
// quorum is preferred because it works for every version: HBase 2 uses ZooKeeper by default and HBase 3 RPC, but the client's
// configuration does not state the cluster's version, and the masters of both register in ZooKeeper. A quorum that is not from a
// configuration file was named for this job and takes precedence over everything else. If nothing is configured, the result has
// neither quorum nor servers. A quorum of a file that has TLS to ZooKeeper is refused: its port would not answer.
func FindRegistry(conf *hdfsio.Conf) (Registry, error) {
	zookeeper := Registry{Quorum: conf.Quorum(), Key: quorumServers}
	if p, ok := conf.Lookup(quorumServers); ok && zookeeper.Quorum != "" && !slices.Contains(conf.Files(), p.File) {
		return zookeeper, nil
	}
	impl := conf.Value(registryImpl)
	switch impl[strings.LastIndexByte(impl, '.')+1:] {
	case "":
		if zookeeper.Quorum != "" || conf.Value(bootstrapServers) == "" && conf.Value(masterServers) == "" {
			return zookeeper, refuseSecure(conf)
		}
	case "ZKConnectionRegistry", "ZKAsyncRegistry":
		return zookeeper, refuseSecure(conf)
	case "RpcConnectionRegistry":
	case "MasterRegistry":
		return masters(conf, impl)
	default:
		return Registry{}, fail.Errorf(fail.Config, "%s = %s (%s) is not supported: want ZKConnectionRegistry, RpcConnectionRegistry or MasterRegistry of org.apache.hadoop.hbase.client",
			registryImpl, impl, origin(conf, registryImpl))
	}
	if conf.Value(bootstrapServers) == "" {
		return masters(conf, impl)
	}
	r := Registry{Key: bootstrapServers}
	var err error
	r.Servers, err = servers(conf, bootstrapServers, conf.Value(bootstrapServers), "")
	return r, err
}

// refuseSecure returns an error if clients of HBase connect to ZooKeeper by TLS (HBASE-28038).
func refuseSecure(conf *hdfsio.Conf) error {
	if !conf.Bool(secureZooKeeper, false) {
		return nil
	}
	return fail.Errorf(fail.Config, "%s = true (%s): TLS to ZooKeeper is not supported: set %s to org.apache.hadoop.hbase.client.RpcConnectionRegistry",
		secureZooKeeper, origin(conf, secureZooKeeper), registryImpl)
}

// masters returns the servers of hbase.masters, else the one of hbase.master.hostname (MasterRegistry.getMasterAddr of HBase 2.6).
func masters(conf *hdfsio.Conf, impl string) (Registry, error) {
	const hostKey, portKey = "hbase.master.hostname", "hbase.master.port"
	r := Registry{Masters: true, Key: masterServers}
	list := conf.Value(masterServers)
	if host := conf.Value(hostKey); list == "" && host != "" {
		r.Key, list = hostKey, host
		if port := conf.Value(portKey); port != "" {
			list = net.JoinHostPort(host, port)
		}
	}
	if list == "" {
		return r, fail.Errorf(fail.Config, "%s = %s (%s) names no servers: set %s to region servers or masters with their ports, or %s", registryImpl, impl, origin(conf, registryImpl), bootstrapServers, masterServers)
	}
	var err error
	r.Servers, err = servers(conf, r.Key, list, defaultMasterPort)
	return r, err
}

// servers parses a list of addresses. Addresses without a port get the given port. It is empty for bootstrap servers, which have no
// default port (RpcConnectionRegistry of HBase 2.6).
func servers(conf *hdfsio.Conf, key, list, port string) ([]string, error) {
	var all []string
	for _, s := range setting.List(list) {
		if _, _, err := net.SplitHostPort(s); err != nil {
			if port == "" {
				return nil, fail.Errorf(fail.Config, "%s (%s): %q is not host:port", key, origin(conf, key), s)
			}
			s = net.JoinHostPort(strings.Trim(s, "[]"), port)
		}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil, fail.Errorf(fail.Config, "%s (%s) names no server", key, origin(conf, key))
	}
	return all, nil
}

// origin returns the file that sets a property.
func origin(conf *hdfsio.Conf, key string) string {
	p, ok := conf.Lookup(key)
	if !ok {
		return "not set"
	}
	return p.File
}
