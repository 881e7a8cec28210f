package hdfsio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// avoidFor is how long a DataNode that did not answer is left out of new blocks. The NameNode takes a dead one for
	// alive for 10.5 minutes by default.
	avoidFor = 10 * time.Minute
	// probeTimeout bounds the question whether a DataNode answers.
	probeTimeout = 5 * time.Second
)

// avoidedNode is a DataNode that is left out of new blocks.
type avoidedNode struct {
	info  []byte // DatanodeInfoProto
	until time.Time
}

// avoided are the DataNodes to leave out now.
func (h *HDFS) avoided() [][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	var nodes [][]byte
	for uuid, n := range h.avoid {
		if time.Now().After(n.until) {
			delete(h.avoid, uuid)
			continue
		}
		nodes = append(nodes, n.info)
	}
	return nodes
}

// avoidNone takes all DataNodes back and says whether there was one to take back.
func (h *HDFS) avoidNone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.avoid)
	clear(h.avoid)
	return n > 0
}

// diagnose finds out what a failed write means for those to come: DataNodes of its block that do not answer are left out
// of the next blocks, and a NameNode that found no DataNode at all is asked for the room that there is.
func (h *HDFS) diagnose(ctx context.Context, s *session, block int64, err error) error {
	if s == nil {
		return err
	}
	// BlockManager.chooseTarget4NewBlock of Hadoop 3 has no class of its own for this.
	if javaClass(err) == "java.io.IOException" && strings.Contains(err.Error(), "could only be written to") {
		if h.avoidNone() {
			return err // those that were left out are the only ones: they have to do
		}
		return h.checkSpace(ctx, block, err)
	}
	if answered(err) {
		return err
	}
	given := s.blocks.given()
	if given == nil {
		return err
	}
	var wg sync.WaitGroup
	for _, n := range given.nodes {
		wg.Go(func() {
			cause := h.probe(ctx, n, given.id)
			if cause == nil || ctx.Err() != nil {
				return
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.avoid == nil {
				h.avoid = map[string]avoidedNode{}
			}
			h.avoid[n.uuid] = avoidedNode{n.info, time.Now().Add(avoidFor)}
			h.o.Log.Warn("datanode does not answer and is left out of new blocks", "datanode", n.host, "address", h.address(n), "err", cause)
		})
	}
	wg.Wait()
	return err
}

// checkSpace makes ErrNoSpace of a refused block when there is no room for it.
func (h *HDFS) checkSpace(ctx context.Context, block int64, err error) error {
	var info hdfs.FsInfo
	e := h.once(ctx, func(c *hdfs.Client) (err error) {
		info, err = c.StatFs()
		return err
	})
	// With nothing at all the DataNodes are away, not full.
	if e != nil || info.Capacity == 0 && info.Used == 0 || info.Remaining >= uint64(block) {
		return err
	}
	return fmt.Errorf("%w: a block may take %d bytes, and of %d bytes on all DataNodes %d are free (remove files, empty the trash, or add DataNodes): %w",
		ErrNoSpace, block, info.Capacity, info.Remaining, err)
}

func (h *HDFS) address(n dataNode) string {
	host := n.ip
	if h.o.UseDatanodeHostname {
		host = n.host
	}
	return net.JoinHostPort(host, strconv.FormatUint(n.port, 10))
}

// probe asks a DataNode for nothing of a block. Any answer will do, also a refusal or the end of the connection: a
// frozen process takes connections, but gives none.
func (h *HDFS) probe(ctx context.Context, n dataNode, block []byte) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", h.address(n))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		return err
	}
	if _, err := c.Write(probeOp(block)); err != nil {
		return err
	}
	if _, err := c.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// probeOp is READ_BLOCK (DataTransferProtocol version 28, operation 81) of no bytes, without a token.
func probeOp(block []byte) []byte {
	message := func(fields ...[]byte) []byte {
		var m []byte
		for i, f := range fields {
			m = protowire.AppendTag(m, protowire.Number(i+1), protowire.BytesType)
			m = protowire.AppendBytes(m, f)
		}
		return m
	}
	op := message(message(message(block), []byte("bulkload-probe"))) // header: base header, client's name
	for field := range protowire.Number(2) {
		op = protowire.AppendTag(op, field+2, protowire.VarintType) // offset, length
		op = protowire.AppendVarint(op, 0)
	}
	return protowire.AppendBytes(append(binary.BigEndian.AppendUint16(nil, 28), 81), op)
}

// denied adds to a refusal whose directory it is. The client library drops the NameNode's words.
func (h *HDFS) denied(ctx context.Context, op, name string, err error) error {
	if !errors.Is(err, fs.ErrPermission) || op == "stat" {
		return err
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		var info hdfsInfo
		e := h.once(ctx, func(c *hdfs.Client) error {
			fi, err := c.Stat(dir)
			if err == nil {
				info = newHDFSInfo(fi)
			}
			return err
		})
		if e == nil {
			user, group := Owner(info)
			return &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("%w: %s belongs to %s:%s with mode %s, and user %s may not",
				fs.ErrPermission, dir, user, group, info.Mode(), h.o.User)}
		}
		if dir == "/" || ctx.Err() != nil || !answered(e) {
			return err
		}
	}
}
