package hdfsio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// blockWrite is a block to be written whole.
type blockWrite struct {
	given     *givenBlock
	token     []byte
	client    string
	encrypted bool
	data      []byte
}

// writeBlock writes a block to its DataNodes, and returns when all of them have acknowledged all of it.
func (h *HDFS) writeBlock(ctx context.Context, w blockWrite) error {
	p, err := h.dialPeer(ctx, w.given.nodes[0], w.encrypted)
	if err != nil {
		return err
	}
	defer p.conn.Close() // a DataNode takes nothing more on the connection of a write
	defer p.during(ctx)()
	packets := h.small.buffer()
	defer h.small.buffers.Put(packets)
	if err := w.send(p, packets); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("write to datanode %s: %w", p.address, err)
	}
	return nil
}

// send writes the block over a connection, with its packets in a buffer that may be used again.
func (w *blockWrite) send(p *peer, packets *[]byte) error {
	const stage, checksums = 4, 9
	const setupCreate, crc32c = 6, 2
	op := appendMessage(nil, 1, operationHeader(w.given.id, w.token, w.client)) // OpWriteBlockProto
	for _, n := range w.given.nodes[1:] {
		op = appendMessage(op, 2, n.info)
	}
	op = appendVarint(op, stage, setupCreate)
	for field, n := range []int{len(w.given.nodes) - 1, 0, 0, 0} { // size of the pipeline, bytes received: least, most, stamp
		op = appendVarint(op, protowire.Number(field+5), uint64(n))
	}
	op = appendMessage(op, checksums, appendVarint(appendVarint(nil, 1, crc32c), 2, checksumChunk))
	if _, err := p.conn.Write(appendOperation(nil, writeBlockOp, op)); err != nil {
		return err
	}
	m, err := readDelimited(p.in)
	if err == nil {
		err = checkResponse(m)
	}
	if err != nil {
		return err
	}
	// All packets are sent at once: they are few, and the DataNode takes them as it can.
	b := slices.Grow(*packets, len(w.data)+len(w.data)/64+1024)
	seqno := int64(0)
	for at := 0; at < len(w.data); at += packetData {
		b = appendWritePacket(b, int64(at), seqno, w.data[at:min(at+packetData, len(w.data))])
		seqno++
	}
	*packets = appendWritePacket(b, int64(len(w.data)), seqno, nil)
	if _, err := p.conn.Write(*packets); err != nil {
		return err
	}
	for n := int64(0); n <= seqno; n++ {
		m, err := readDelimited(p.in)
		if err == nil {
			err = checkAck(m, n, len(w.given.nodes))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// peer is a connection to a DataNode.
type peer struct {
	conn    net.Conn
	in      *bufio.Reader
	address string
	packet  []byte    // to read the next packet into
	since   time.Time // it has been idle
}

// dialPeer connects to a DataNode.
func (h *HDFS) dialPeer(ctx context.Context, n dataNode, encrypted bool) (*peer, error) {
	address := h.address(n)
	nc, err := (&net.Dialer{Timeout: h.o.DialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn, err := h.secureDataNode(ctx, &patientConn{nc, h.o.IOTimeout}, encrypted)
	if err != nil {
		return nil, err
	}
	return &peer{conn: conn, in: bufio.NewReader(conn), address: address}, nil
}

// during has the end of a context end what is under way on the connection.
func (p *peer) during(ctx context.Context) (end func() bool) {
	return context.AfterFunc(ctx, func() { p.conn.Close() })
}

// patientConn has a deadline for each read and write.
type patientConn struct {
	net.Conn
	timeout time.Duration
}

func (c *patientConn) Read(p []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the peer must not end an open exchange
	}
	return n, err
}

func (c *patientConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
