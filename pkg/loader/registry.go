package loader

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Fields of the registry's answers (Registry.proto and HBase.proto of HBase 2.6), for which gohbase has no types.
const (
	registryID         = 1 // GetClusterIdResponse.cluster_id
	registryMaster     = 1 // GetActiveMasterResponse.server_name
	registryMeta       = 1 // GetMetaRegionLocationsResponse.meta_locations
	registryNode       = 1 // GetBootstrapNodesResponse.server_name
	locationRegion     = 1 // RegionLocation.region_info
	locationServer     = 2 // .server_name
	regionReplica      = 7 // RegionInfo.replica_id
	serverHost         = 1 // ServerName.host_name
	serverPort         = 2 // .port
	maxRegistryServers = 64
)

// errNoRegistry is the error of a server that has no RPC registry.
var errNoRegistry = errors.New("the server has no RPC registry (masters since HBase 2.3, region servers since 2.5): name ZooKeeper by hbase.zookeeper.quorum")

// errRegistryEmpty is the error of a registry that does not know the location of hbase:meta.
var errRegistryEmpty = errors.New("it knows no place of hbase:meta: HBase is starting, or not running")

// askRegistry asks the configured servers, and the ones learned from them, one after the other until one answers. Each call begins with
// another server, as a server's data can be stale.
func (c *Cluster) askRegistry(ctx context.Context) (places, error) {
	c.mu.Lock()
	servers := slices.Clone(c.cfg.Registry)
	for _, s := range c.registry.learned {
		if !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	first := c.registry.turn % len(servers)
	c.registry.turn++
	c.mu.Unlock()
	queue := append(servers[first:len(servers):len(servers)], servers[:first]...)
	// A silent server leaves time for the others.
	share := c.cfg.LookupTimeout / time.Duration(min(len(servers)+1, 3))
	var failed []error
	for i := 0; i < len(queue); i++ {
		addr := queue[i]
		p, err := c.askRegistryServer(ctx, addr, share)
		// A region server that was started before hbase:meta was open may not know it yet, but knows the master.
		if errors.Is(err, errRegistryEmpty) && p.master != "" && !slices.Contains(queue, p.master) {
			queue = append(queue, p.master)
		}
		if err == nil {
			return p, nil
		}
		if secured := c.rpc.WantsLogin(ctx, err); secured != nil {
			return places{}, secured
		}
		if _, ok := errors.AsType[*hbaserpc.LoginError](err); ok {
			return places{}, err
		}
		failed = append(failed, fmt.Errorf("%s: %w", addr, err))
		if ctx.Err() != nil {
			break
		}
	}
	return places{}, errors.Join(failed...)
}

// registryState is the known state of the RPC registry. Cluster.mu guards it.
type registryState struct {
	learned []string // from GetBootstrapNodes: they may live longer than the configured ones
	turn    int
}

// askRegistryServer asks one server. It returns the master also with errRegistryEmpty.
func (c *Cluster) askRegistryServer(ctx context.Context, addr string, limit time.Duration) (places, error) {
	ctx, cancel := hbaserpc.WithLimit(ctx, limit)
	defer cancel()
	l, err := c.rpc.Connect(ctx, addr, hbaserpc.RegistryService)
	if err != nil {
		return places{}, err
	}
	ask := func(method string) ([]byte, error) {
		resp := &emptypb.Empty{}
		if err := l.Invoke(ctx, method, &emptypb.Empty{}, resp); err != nil {
			if hbaserpc.Threw(err, "UnknownServiceException") {
				err = errNoRegistry
			}
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		// The message has no fields of its own, so all fields of the answer are here.
		return resp.ProtoReflect().GetUnknown(), nil
	}
	var p places
	answer, err := ask("GetActiveMaster")
	if err != nil {
		return places{}, err
	}
	if p.master, err = activeMaster(answer); err != nil {
		return places{}, err
	}
	if answer, err = ask("GetMetaRegionLocations"); err != nil {
		return places{}, err
	}
	if p.meta, err = metaLocation(answer); err != nil {
		return p, err
	}
	if answer, err = ask("GetClusterId"); err != nil {
		return places{}, err
	}
	if id, ok := bytesField(answer, registryID); ok {
		p.id = string(id)
	}
	// Not in HBase 2.4, and not needed.
	if answer, err := ask("GetBootstrapNodes"); err != nil {
		c.log.Debug("the RPC registry names no further servers", "server", addr, "error", err)
	} else if nodes := bootstrapNodes(answer); len(nodes) > 0 {
		c.mu.Lock()
		c.registry.learned = nodes
		c.mu.Unlock()
	}
	return p, nil
}

// metaLocation returns the server that holds the first replica of hbase:meta.
func metaLocation(answer []byte) (string, error) {
	server := ""
	var failed error
	sound := frames.Fields(answer, func(field protowire.Number, _ uint64, location []byte) {
		if field != registryMeta || location == nil || server != "" || failed != nil {
			return
		}
		info, _ := bytesField(location, locationRegion)
		if replica, ok := varintField(info, regionReplica); ok && replica != 0 {
			return
		}
		name, ok := bytesField(location, locationServer)
		if !ok {
			return // not assigned at present
		}
		server, failed = serverAddress(name)
	})
	switch {
	case failed != nil:
		return "", fmt.Errorf("the place of hbase:meta: %w", failed)
	case !sound:
		return "", errors.New("the answer with the place of hbase:meta is damaged")
	case server == "":
		return "", errRegistryEmpty
	}
	return server, nil
}

// activeMaster returns the active master, empty if there is none.
func activeMaster(answer []byte) (string, error) {
	name, ok := bytesField(answer, registryMaster)
	if !ok {
		return "", nil // reading works without a master
	}
	server, err := serverAddress(name)
	if err != nil {
		return "", fmt.Errorf("the active master: %w", err)
	}
	return server, nil
}

// bootstrapNodes returns the further servers that answer as the registry, at most 64. It omits entries that are not addresses.
func bootstrapNodes(answer []byte) []string {
	var nodes []string
	frames.Fields(answer, func(field protowire.Number, _ uint64, name []byte) {
		if field != registryNode || name == nil || len(nodes) == maxRegistryServers {
			return
		}
		if addr, err := serverAddress(name); err == nil && !slices.Contains(nodes, addr) {
			nodes = append(nodes, addr)
		}
	})
	return nodes
}

// serverAddress returns host:port of an encoded ServerName.
func serverAddress(name []byte) (string, error) {
	host, ok := bytesField(name, serverHost)
	port, _ := varintField(name, serverPort)
	const longestHost = 255
	if !ok || len(host) == 0 || len(host) > longestHost || port == 0 || port > 65535 {
		return "", errors.New("the answer names no host and port")
	}
	return net.JoinHostPort(string(host), strconv.FormatUint(port, 10)), nil
}

// checkRegistry checks the addresses of [Config.Registry].
func checkRegistry(servers []string) error {
	if len(servers) > maxRegistryServers {
		return fmt.Errorf("the RPC registry has %d servers, at most %d make sense", len(servers), maxRegistryServers)
	}
	for _, s := range servers {
		host, port, err := net.SplitHostPort(s)
		if err != nil || host == "" {
			return fmt.Errorf("server %q of the RPC registry is not host:port", s)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("server %q of the RPC registry has no port between 1 and 65535", s)
		}
	}
	return nil
}

// where describes the service that is asked for the cluster's addresses.
func (c Config) where() string {
	if len(c.Registry) > 0 {
		return "RPC registry " + strings.Join(c.Registry, ",")
	}
	return "ZooKeeper " + c.Quorum
}
