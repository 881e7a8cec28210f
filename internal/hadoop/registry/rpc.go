package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Fields of the registry's answers (Registry.proto and HBase.proto of HBase 2.6), for which gohbase has no types.
const (
	answerID       = 1 // GetClusterIdResponse.cluster_id
	answerMaster   = 1 // GetActiveMasterResponse.server_name
	answerMeta     = 1 // GetMetaRegionLocationsResponse.meta_locations
	answerNode     = 1 // GetBootstrapNodesResponse.server_name
	locationRegion = 1 // RegionLocation.region_info
	locationServer = 2 // .server_name
	regionReplica  = 7 // RegionInfo.replica_id
	serverHost     = 1 // ServerName.host_name
	serverPort     = 2 // .port
	maxServers     = 64
)

// errNoRegistry is the error of a server that has no RPC registry.
var errNoRegistry = errors.New("the server has no RPC registry (masters since HBase 2.3, region servers since 2.5): name ZooKeeper by hbase.zookeeper.quorum")

// errEmpty is the error of a registry that does not know the location of hbase:meta.
var errEmpty = errors.New("it knows no place of hbase:meta: HBase is starting, or not running")

// askServers asks the configured servers, and the ones learned from them, one after the other until one answers. Each call begins with
// another server, as a server's data can be stale.
func (r *Registry) askServers(ctx context.Context) (Places, error) {
	r.mu.Lock()
	servers := slices.Clone(r.options.Servers)
	for _, s := range r.learned {
		if !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	first := r.turn % len(servers)
	r.turn++
	r.mu.Unlock()
	queue := append(servers[first:len(servers):len(servers)], servers[:first]...)
	// A silent server leaves time for the others.
	share := r.options.Timeout / time.Duration(min(len(servers)+1, 3))
	var failed []error
	for i := 0; i < len(queue); i++ {
		addr := queue[i]
		p, err := r.askServer(ctx, addr, share)
		// A region server that was started before hbase:meta was open may not know it yet, but knows the master.
		if errors.Is(err, errEmpty) && p.Master != "" && !slices.Contains(queue, p.Master) {
			queue = append(queue, p.Master)
		}
		if err == nil {
			return p, nil
		}
		if secured := r.rpc.WantsLogin(ctx, err); secured != nil {
			return Places{}, secured
		}
		if _, ok := errors.AsType[*hbaserpc.LoginError](err); ok {
			return Places{}, err
		}
		failed = append(failed, fmt.Errorf("%s: %w", addr, err))
		if ctx.Err() != nil {
			break
		}
	}
	return Places{}, errors.Join(failed...)
}

// askServer asks one server. It returns the master also with errEmpty.
func (r *Registry) askServer(ctx context.Context, addr string, limit time.Duration) (Places, error) {
	ctx, cancel := hbaserpc.WithLimit(ctx, limit)
	defer cancel()
	l, err := r.rpc.Connect(ctx, addr, hbaserpc.RegistryService)
	if err != nil {
		return Places{}, err
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
	var p Places
	answer, err := ask("GetActiveMaster")
	if err != nil {
		return Places{}, err
	}
	if p.Master, err = activeMaster(answer); err != nil {
		return Places{}, err
	}
	if answer, err = ask("GetMetaRegionLocations"); err != nil {
		return Places{}, err
	}
	if p.Meta, err = metaLocation(answer); err != nil {
		return p, err
	}
	if answer, err = ask("GetClusterId"); err != nil {
		return Places{}, err
	}
	if id, ok := frames.Bytes(answer, answerID); ok {
		p.ID = string(id)
	}
	// Not in HBase 2.4, and not needed.
	if answer, err := ask("GetBootstrapNodes"); err != nil {
		r.options.Log.Debug("the RPC registry names no further servers", "server", addr, "error", err)
	} else if nodes := bootstrapNodes(answer); len(nodes) > 0 {
		r.mu.Lock()
		r.learned = nodes
		r.mu.Unlock()
	}
	return p, nil
}

// metaLocation returns the server that holds the first replica of hbase:meta.
func metaLocation(answer []byte) (string, error) {
	server := ""
	var failed error
	sound := frames.Fields(answer, func(field protowire.Number, _ uint64, location []byte) {
		if field != answerMeta || location == nil || server != "" || failed != nil {
			return
		}
		info, _ := frames.Bytes(location, locationRegion)
		if frames.Number(info, regionReplica) != 0 {
			return
		}
		name, ok := frames.Bytes(location, locationServer)
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
		return "", errEmpty
	}
	return server, nil
}

// activeMaster returns the active master, empty if there is none.
func activeMaster(answer []byte) (string, error) {
	name, ok := frames.Bytes(answer, answerMaster)
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
		if field != answerNode || name == nil || len(nodes) == maxServers {
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
	host, ok := frames.Bytes(name, serverHost)
	port := frames.Number(name, serverPort)
	const longestHost = 255
	if !ok || len(host) == 0 || len(host) > longestHost || port == 0 || port > 65535 {
		return "", errors.New("the answer names no host and port")
	}
	return net.JoinHostPort(string(host), strconv.FormatUint(port, 10)), nil
}

// CheckServers checks the addresses of servers of an RPC registry: host:port, at most 64.
func CheckServers(servers []string) error {
	if len(servers) > maxServers {
		return fmt.Errorf("the RPC registry has %d servers, at most %d make sense", len(servers), maxServers)
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
