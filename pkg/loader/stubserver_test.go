package loader

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/registry"
	"bulkload/internal/test/testrpc"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// thrown is the error of a stub's function whose client gets an exception.
func thrown(class, message string) error { return &testrpc.Exception{Class: class, Message: message} }

// serveStub makes a function answer the calls of a cluster of [stubCluster] to a server.
func serveStub(c *Cluster, addr string, answer func(c *testrpc.Call) error) {
	others, stub := c.cfg.Dialer, testrpc.Pipes(&atomic.Int32{}, func(nc net.Conn) { testrpc.Serve(nc, answer) })
	c.cfg.Dialer = func(ctx context.Context, network, to string) (net.Conn, error) {
		if to == addr {
			return stub(ctx, network, to)
		}
		return others(ctx, network, to)
	}
}

// stubCluster returns a cluster without connections, which fails to dial any server.
func stubCluster(cfg Config) *Cluster {
	cfg.Quorum, cfg.EffectiveUser = "none:1", "x"
	discard := slog.New(slog.DiscardHandler)
	hbaserpc.TakeLog(discard)
	c := newCluster(cfg.withDefaults(), discard)
	o := c.cfg.rpc()
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return c.cfg.Dialer(ctx, network, addr)
	}
	c.rpc = hbaserpc.NewClient(o)
	c.registry = registry.New(c.rpc, c.cfg.registry(discard))
	return c
}

// nothing answers calls without data: a row without cells, a region without rows, a cluster without servers.
func nothing(c *testrpc.Call) error {
	switch resp := c.Answer.(type) {
	case *pb.ScanResponse:
		resp.MoreResultsInRegion = proto.Bool(false)
	case *pb.GetClusterStatusResponse:
		resp.ClusterStatus = &pb.ClusterStatus{}
	}
	return nil
}

// onServers returns regions of a table, one after the other from "b" on, on these servers.
func onServers(servers ...string) []Region {
	regions := regionsAt("b", "c", "d", "e")[:len(servers)]
	for i, s := range servers {
		regions[i].Server = s
	}
	regions[len(regions)-1].End = nil
	return regions
}

// stubRegistry makes the cluster find its servers through a registry, which a function asks for the master with each lookup.
func stubRegistry(c *Cluster, master func() string) {
	c.cfg.Registry = []string{"registry:1"}
	c.registry = registry.New(c.rpc, c.cfg.registry(c.log))
	serveStub(c, "registry:1", func(call *testrpc.Call) error {
		var fields []byte
		switch call.Method { // fields of Registry.proto and HBase.proto
		case "GetActiveMaster":
			fields = frames.AppendBytes(nil, 1, serverName(master()))
		case "GetMetaRegionLocations":
			fields = frames.AppendBytes(nil, 1, frames.AppendBytes(nil, 2, serverName("meta")))
		}
		call.Answer.ProtoReflect().SetUnknown(fields)
		return nil
	})
}

// serverName returns a ServerName at port 1.
func serverName(host string) []byte {
	return frames.AppendNumber(frames.AppendBytes(nil, 1, []byte(host)), 2, 1)
}
