package loader

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/test/testrpc"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// thrown is the error of a stub's function whose client gets an exception.
func thrown(class, message string) error { return &testrpc.Exception{Class: class, Message: message} }

// serveStub makes a function answer the calls to a server.
func serveStub(c *Cluster, addr string, answer func(c *testrpc.Call) error) {
	others, stub := c.cfg.Dialer, testrpc.Pipes(&atomic.Int32{}, func(nc net.Conn) { testrpc.Serve(nc, answer) })
	dialBy(c, func(ctx context.Context, network, to string) (net.Conn, error) {
		if to == addr {
			return stub(ctx, network, to)
		}
		return others(ctx, network, to)
	})
}

// dialBy gives a cluster without connections another dialer.
func dialBy(c *Cluster, dialer func(context.Context, string, string) (net.Conn, error)) {
	c.cfg.Dialer = dialer
	c.rpc = hbaserpc.NewClient(c.cfg.rpc())
}

// stubCluster returns a cluster without connections, which fails to dial any server.
func stubCluster(cfg Config) *Cluster {
	cfg.Quorum, cfg.EffectiveUser = "none:1", "x"
	discard := slog.New(slog.DiscardHandler)
	hbaserpc.TakeLog(discard)
	return newCluster(cfg.withDefaults(), discard)
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
	serveStub(c, "registry:1", func(call *testrpc.Call) error {
		var fields []byte
		switch call.Method {
		case "GetActiveMaster":
			fields = frames.AppendBytes(nil, registryMaster, serverName(master(), 1))
		case "GetMetaRegionLocations":
			fields = metaAt(0, serverName("meta", 1))
		}
		call.Answer.ProtoReflect().SetUnknown(fields)
		return nil
	})
}
