package cluster

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
)

// Keys of hbase-site.xml that say how clients find the cluster without ZooKeeper.
const (
	registryImpl     = "hbase.client.registry.impl"
	bootstrapServers = "hbase.client.bootstrap.servers"
	masterServers    = "hbase.masters"
	quorumServers    = "hbase.zookeeper.quorum"
)

// defaultMasterPort is the default master port of hbase.masters without one (HConstants.DEFAULT_MASTER_PORT).
const defaultMasterPort = "16000"

// Registry is how HBase is found: by ZooKeeper, or by servers that answer as its RPC registry.
type Registry struct {
	Quorum  string   // host:port with commas; empty: Servers are asked
	Servers []string // host:port; empty with Quorum
	Masters bool     // Servers are masters, of hbase.masters
	Key     string   // of the configuration, that names the servers
}

// FindRegistry chooses between ZooKeeper and the RPC registry. hbase.client.registry.impl decides where it is set, as for
// HBase's own clients. Else a configured quorum is taken, then hbase.client.bootstrap.servers, then hbase.masters: the
// default of HBase 2 is ZooKeeper and that of HBase 3 is RPC, but the client's files do not say which version the cluster
// is, and the masters of both keep its place in ZooKeeper, so that a quorum is right for each. A quorum that was not
// configured by a file was named for this job, and comes before all. The result has neither where nothing is configured.
func FindRegistry(conf *hdfsio.Conf) (Registry, error) {
	zookeeper := Registry{Quorum: conf.Quorum(), Key: quorumServers}
	if p, ok := conf.Lookup(quorumServers); ok && zookeeper.Quorum != "" && !slices.Contains(conf.Files(), p.File) {
		return zookeeper, nil
	}
	impl := conf.Value(registryImpl)
	switch impl[strings.LastIndexByte(impl, '.')+1:] {
	case "":
		if zookeeper.Quorum != "" || conf.Value(bootstrapServers) == "" && conf.Value(masterServers) == "" {
			return zookeeper, nil
		}
	case "ZKConnectionRegistry", "ZKAsyncRegistry":
		return zookeeper, nil
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

// masters returns the masters of hbase.masters, else the one of hbase.master.hostname (MasterRegistry.getMasterAddr of HBase 2.6).
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

// servers reads a list of addresses. Those without a port have the default one; there is none for bootstrap servers
// (RpcConnectionRegistry of HBase 2.6).
func servers(conf *hdfsio.Conf, key, list, port string) ([]string, error) {
	var all []string
	for s := range strings.SplitSeq(list, ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
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

// origin returns where a property is from.
func origin(conf *hdfsio.Conf, key string) string {
	p, ok := conf.Lookup(key)
	if !ok {
		return "not set"
	}
	return p.File
}

// String returns the registry's addresses for logs.
func (r Registry) String() string {
	if len(r.Servers) > 0 {
		return fmt.Sprintf("RPC registry of %s (%s)", strings.Join(r.Servers, ","), r.Key)
	}
	return "ZooKeeper " + r.Quorum
}
