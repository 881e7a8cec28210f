package registry

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/frames"
	"bulkload/pkg/setting"

	"github.com/go-zookeeper/zk"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// refusals counts the refused dials to a quorum: a server that refused is dialed again only if another may answer.
type refusals struct {
	mu    sync.Mutex
	other bool // a server did not refuse
	any   bool
}

func (r *refusals) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	refused := errors.Is(err, syscall.ECONNREFUSED)
	r.any, r.other = r.any || refused, r.other || !refused
}

// all reports whether every dial was refused.
func (r *refusals) all() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.any && !r.other
}

// readPlaces asks ZooKeeper. known says that it has answered before: then servers that refuse are being restarted, and are waited for.
func readPlaces(ctx context.Context, o Options, known bool) (Places, error) {
	servers := setting.List(o.Quorum)
	var dials refusals
	refused := func() error {
		if known || !dials.all() {
			return nil
		}
		return errors.New("connection refused by " + strings.Join(servers, ", "))
	}
	dialer := func(network, addr string, timeout time.Duration) (net.Conn, error) {
		d := net.Dialer{Timeout: min(timeout, o.DialTimeout)}
		nc, err := d.DialContext(ctx, network, addr)
		dials.note(err)
		if err != nil {
			return nil, err
		}
		return newZKConn(nc), nil
	}
	conn, _, err := zk.Connect(servers, o.Timeout, zk.WithLogger(zkLogger{o.Log}), zk.WithDialer(dialer))
	if err != nil {
		return Places{}, err
	}
	defer conn.Close()
	// In parallel: ZooKeeper answers one session's reads in their order, and sequential reads would each wait.
	var meta, id, master struct {
		data []byte
		err  error
	}
	var reads sync.WaitGroup
	reads.Go(func() { meta.data, meta.err = readZnode(ctx, conn, path.Join(o.Root, "meta-region-server"), refused) })
	reads.Go(func() { id.data, id.err = readZnode(ctx, conn, path.Join(o.Root, "hbaseid"), refused) })
	reads.Go(func() { master.data, master.err = readZnode(ctx, conn, path.Join(o.Root, "master"), refused) })
	reads.Wait()
	var p Places
	if errors.Is(meta.err, zk.ErrNoNode) {
		return p, fmt.Errorf("%s/meta-region-server does not exist: HBase is not running, or zookeeper.znode.parent is not %s", o.Root, o.Root)
	}
	if meta.err != nil {
		return p, meta.err
	}
	var server pb.MetaRegionServer
	if err := proto.Unmarshal(meta.data, &server); err != nil {
		return p, fmt.Errorf("%s/meta-region-server: %w", o.Root, err)
	}
	p.Meta = Address(server.GetServer())
	if p.ID, err = clusterID(o.Root, id.data, id.err); err != nil {
		return p, err
	}
	if errors.Is(master.err, zk.ErrNoNode) {
		return p, nil // reading works without a master
	}
	if master.err != nil {
		return p, master.err
	}
	var active pb.Master
	if err := proto.Unmarshal(master.data, &active); err != nil {
		return p, fmt.Errorf("%s/master: %w", o.Root, err)
	}
	p.Master = Address(active.GetMaster())
	return p, nil
}

// clusterID parses the id that the first master of a cluster wrote (ZKClusterId). It is empty if the id is missing or not readable for clients.
func clusterID(root string, data []byte, err error) (string, error) {
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var id pb.ClusterId
	if err := proto.Unmarshal(data, &id); err != nil {
		return "", fmt.Errorf("%s/hbaseid: %w", root, err)
	}
	return id.GetClusterId(), nil
}

// Address returns host:port of a server.
func Address(s *pb.ServerName) string {
	return net.JoinHostPort(s.GetHostName(), strconv.Itoa(int(s.GetPort())))
}

// readZnode reads a znode's protobuf, repeating while no server answers, unless refused returns the error of servers that all refuse
// connections.
func readZnode(ctx context.Context, conn *zk.Conn, name string, refused func() error) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	for {
		// The client has no contexts. An abandoned Get ends when the caller closes the connection.
		got := make(chan answer, 1)
		go func() {
			data, _, err := conn.Get(name)
			got <- answer{data, err}
		}()
		var a answer
		select {
		case a = <-got:
		case <-ctx.Done():
			return nil, fmt.Errorf("read %s: %w", name, context.Cause(ctx))
		}
		if a.err == nil {
			return znodePayload(name, a.data)
		}
		if err := refused(); err != nil {
			return nil, err
		}
		if !errors.Is(a.err, zk.ErrNoServer) && !errors.Is(a.err, zk.ErrConnectionClosed) {
			return nil, fmt.Errorf("read %s: %w", name, a.err)
		}
		if err := retry.Sleep(ctx, 250*time.Millisecond); err != nil {
			return nil, fmt.Errorf("read %s: %w (%w)", name, a.err, err)
		}
	}
}

// znodePayload removes HBase's frame (RecoverableZooKeeper, ProtobufUtil): byte 0xFF, a four-byte length and as many bytes that identify
// the writer, then "PBUF".
func znodePayload(name string, data []byte) ([]byte, error) {
	if len(data) > 5 && data[0] == 0xFF {
		n := uint64(binary.BigEndian.Uint32(data[1:]))
		if n <= uint64(len(data)-5) {
			if payload, ok := strings.CutPrefix(string(data[5+n:]), "PBUF"); ok {
				return []byte(payload), nil
			}
		}
	}
	return nil, fmt.Errorf("%s holds %s that are not HBase's", name, setting.Count(len(data), "byte"))
}

// zkConn is a connection to ZooKeeper whose answers are checked before the client reads them.
type zkConn struct {
	net.Conn
	frames *frames.Filter
}

// maxZnode is the longest answer of ZooKeeper that is read; jute.maxbuffer is usually 1 MiB.
const maxZnode = 16 << 20

func newZKConn(nc net.Conn) *zkConn {
	first := true
	return &zkConn{nc, &frames.Filter{Most: maxZnode, Check: func(head []byte, size uint32) (int, string) {
		if size < 16 {
			return 0, "is too short for ZooKeeper"
		}
		need := min(20, int(size))
		if len(head) < need {
			return need, ""
		}
		// The answer to the connect has 16 bytes and a password. The others have a header of 16 bytes, with the request's number and an
		// error code; the data requested is that of a znode.
		data := len(head) >= 20 && (first || int32(binary.BigEndian.Uint32(head)) > 0 && binary.BigEndian.Uint32(head[12:]) == 0)
		first = false
		if data {
			if n := int32(binary.BigEndian.Uint32(head[16:])); n > int32(size)-20 {
				return 0, "says that its data are longer than it is"
			}
		}
		return need, ""
	}}}
}

func (c *zkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if e := c.frames.Pass(p[:n]); e != nil {
		return 0, e
	}
	return n, err
}

// zkLogger writes the lines of the ZooKeeper client to a log.
type zkLogger struct{ log *slog.Logger }

func (z zkLogger) Printf(format string, args ...any) {
	if z.log.Enabled(context.Background(), slog.LevelDebug) {
		z.log.Debug("zookeeper client", "component", "zookeeper", "text", fmt.Sprintf(format, args...))
	}
}
