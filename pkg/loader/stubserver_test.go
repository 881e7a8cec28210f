package loader

import (
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"bulkload/internal/hadoop/frames"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/proto"
)

// stub is a client of gohbase whose calls a function answers.
type stub struct {
	hrpc.RegionClient
	addr   string
	tap    *tap
	answer func(c hrpc.Call) error
}

func (s *stub) Addr() string { return s.addr }
func (s *stub) Close()       { s.tap.Close() }

func (s *stub) QueueRPC(c hrpc.Call) {
	if err := s.answer(c); !errors.Is(err, errSilent) {
		c.ResultChan() <- hrpc.RPCResult{Error: err}
	}
}

// errSilent is the error of a stub's function that does not answer.
var errSilent = errors.New("no answer")

// thrown is the error with which gohbase passes an exception on.
func thrown(class, message string) error {
	return errors.New(javaMark + class + ":\n" + class + ": " + message + "\n")
}

// serveStub makes a function answer the calls to a server, until its connection is closed.
func serveStub(t *testing.T, c *Cluster, addr string, service region.ClientType, answer func(c hrpc.Call) error) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { there.Close() })
	s := &stub{addr: addr, tap: newTap(here, time.Minute, time.Minute), answer: answer}
	s.tap.written.Store(1)
	c.servers[serverKey{addr, service}] = &server{link: &link{client: s, tap: s.tap}}
}

// stubCluster returns a cluster without connections, which fails to dial any server.
func stubCluster(cfg Config) *Cluster {
	cfg.Quorum, cfg.EffectiveUser = "none:1", "x"
	return newCluster(cfg.withDefaults(), slog.New(slog.DiscardHandler))
}

// nothing answers calls without data: a row without cells, a region without rows.
func nothing(c hrpc.Call) error {
	if resp, ok := c.NewResponse().(*pb.ScanResponse); ok {
		resp.MoreResultsInRegion = proto.Bool(false)
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
func stubRegistry(t *testing.T, c *Cluster, master func() string) {
	t.Helper()
	c.cfg.Registry = []string{"registry:1"}
	serveStub(t, c, "registry:1", clientMeta, func(call hrpc.Call) error {
		var fields []byte
		switch call.Name() {
		case "GetActiveMaster":
			fields = frames.AppendBytes(nil, registryMaster, serverName(master(), 1))
		case "GetMetaRegionLocations":
			fields = metaAt(0, serverName("meta", 1))
		}
		call.NewResponse().ProtoReflect().SetUnknown(fields)
		return nil
	})
}
