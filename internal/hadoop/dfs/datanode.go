package dfs

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/datatransfer"
	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hadooprpc"
)

// The beginning of operations: version 28 of the data transfer protocol, and the operation (DataTransferProtocol and Op,
// Hadoop 3.4).
const (
	writeBlockOp    = "\x00\x1c\x50"
	readBlockOp     = "\x00\x1c\x51"
	blockChecksumOp = "\x00\x1c\x55"
)

// Values of Status (datatransfer.proto).
const (
	badToken   = 5
	checksumOK = 6
)

// maxResponse limits a DataNode's response other than packets, in bytes.
const maxResponse = 1 << 20

// baseHeader returns a BaseHeaderProto: the block, and the token for it.
func baseHeader(b Block) []byte {
	return frames.AppendEach(nil, b.id, b.token)
}

// clientHeader returns a ClientOperationHeaderProto.
func clientHeader(b Block, client string) []byte {
	return frames.AppendBytes(frames.AppendBytes(nil, 1, baseHeader(b)), 2, client)
}

// peer is a connection to a DataNode.
type peer struct {
	conn    net.Conn
	in      *bufio.Reader
	address string
	packet  []byte    // buffer for the next packet
	since   time.Time // start of the idle time
	used    bool      // it served a block before, so the DataNode may have closed it
}

// address returns the address of a DataNode's data transfer port.
func (c *Client) address(n DataNode) string {
	host := n.ip
	if c.options.UseDatanodeHostname {
		host = n.Host
	}
	return net.JoinHostPort(host, strconv.FormatUint(n.port, 10))
}

// dial connects to a DataNode that has, or will get, a block. A [NameNodeError] is not about the DataNode.
func (c *Client) dial(ctx context.Context, n DataNode, b Block) (*peer, error) {
	d, err := c.Defaults(ctx)
	if err != nil {
		return nil, &NameNodeError{err}
	}
	address := c.address(n)
	nc, err := (&net.Dialer{Timeout: c.options.DialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	conn, err := c.secure(ctx, &PatientConn{nc, c.options.IOTimeout}, b, d.encrypted)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &peer{conn: conn, in: bufio.NewReader(conn), address: address}, nil
}

// during closes the connection when the context ends.
func (p *peer) during(ctx context.Context) (end func() bool) {
	return context.AfterFunc(ctx, func() { p.conn.Close() })
}

func (p *peer) request(op string, message []byte) error {
	_, err := p.conn.Write(protowire.AppendBytes([]byte(op), message))
	return err
}

// response reads the response to an operation, a BlockOpResponseProto.
func (p *peer) response() ([]byte, error) {
	m, err := readDelimited(p.in, nil)
	if err == nil {
		err = checkResponse(m)
	}
	return m, err
}

// readDelimited reads a message preceded by its length, into buf if it is large enough.
func readDelimited(r *bufio.Reader, buf []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	if n > maxResponse {
		return nil, fmt.Errorf("an answer has %d bytes", n)
	}
	m := slices.Grow(buf[:0], int(n))[:n]
	_, err = io.ReadFull(r, m)
	return m, err
}

// checkResponse returns an error unless m is a BlockOpResponseProto with status SUCCESS.
func checkResponse(m []byte) error {
	var status uint64
	var text []byte
	has := false
	ok := frames.Fields(m, func(field protowire.Number, number uint64, data []byte) {
		switch {
		case field == 1 && data == nil:
			status, has = number, true
		case field == 5:
			text = data
		}
	})
	switch {
	case !ok || !has:
		return errors.New("its answer is malformed")
	case status == badToken:
		return datatransfer.ErrToken
	case status != 0:
		line, _, _ := strings.Cut(string(text), "\n")
		return fmt.Errorf("it refuses with status %d: %s", status, line)
	}
	return nil
}

// PatientConn sets a deadline for each read and write.
type PatientConn struct {
	net.Conn
	Timeout time.Duration
}

func (c *PatientConn) Read(p []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.Timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the peer must not close the connection in the middle of an exchange
	}
	return n, err
}

func (c *PatientConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.Timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

const (
	// idlePeer is the maximum idle time after which a connection is reused: half of a DataNode's default timeout
	// (dfs.datanode.socket.reuse.keepalive).
	idlePeer = 2 * time.Second
	// maxPeers limits the idle connections. Each occupies a thread of its DataNode.
	maxPeers = 32
)

// idle returns an idle connection to a DataNode, or nil.
func (c *Client) idle(n DataNode) *peer {
	address := c.address(n)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	for i := len(c.peers) - 1; i >= 0; i-- {
		if p := c.peers[i]; p.address == address {
			c.peers = slices.Delete(c.peers, i, i+1)
			return p
		}
	}
	return nil
}

// keep keeps a connection for the next block.
func (c *Client) keep(p *peer) {
	p.since, p.used = time.Now(), true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	if c.closed || len(c.peers) == maxPeers {
		p.conn.Close()
		return
	}
	c.peers = append(c.peers, p)
}

// expire closes connections that have been idle for too long; the oldest come first in c.peers.
func (c *Client) expire() {
	for len(c.peers) > 0 && time.Since(c.peers[0].since) > idlePeer {
		c.peers[0].conn.Close()
		c.peers = slices.Delete(c.peers, 0, 1)
	}
}

// secure protects a connection to a DataNode according to the configuration and the NameNode's defaults, in the order of Hadoop's
// SaslDataTransferClient.send.
func (c *Client) secure(ctx context.Context, nc net.Conn, b Block, encrypted bool) (net.Conn, error) {
	o := datatransfer.Options{Qualities: c.options.Data, QualityKey: c.options.DataKey}
	switch {
	case encrypted:
		key, err := c.dataKey(ctx)
		if err != nil {
			return nil, &NameNodeError{err}
		}
		o = datatransfer.Options{Key: key, QualityKey: c.options.DataKey, UnknownKey: c.forgetKey}
	case c.options.Login == nil || privileged(nc.RemoteAddr()):
		return nc, nil
	}
	return datatransfer.LogIn(nc, b.token, o)
}

// privileged reports whether only the superuser of its host can open an address's port. Such DataNodes are authenticated
// by their port, and take a login for a malformed request, whatever protection is configured (SaslDataTransferServer.receive).
func privileged(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.Port < 1024
}

// dataKey is a key for encrypted data.
type dataKey struct {
	key *datatransfer.Key
	old time.Time // time to request a new key
}

// dataKey returns the key for encrypted data (ClientProtocol.getDataEncryptionKey), nil if data is not encrypted.
func (c *Client) dataKey(ctx context.Context) (*datatransfer.Key, error) {
	c.mu.Lock()
	known := c.key
	c.mu.Unlock()
	if known.key != nil && time.Now().Before(known.old) {
		return known.key, nil
	}
	var message []byte
	_, err := c.With(ctx, func(ctx context.Context, caller *hadooprpc.Caller) error {
		answer, err := caller.Call(ctx, "getDataEncryptionKey", nil)
		if err == nil && !frames.Into(answer, frames.To{1: &message}) {
			err = errors.New("the answer is malformed")
		}
		if err != nil {
			return fmt.Errorf("get a data encryption key: %w", err)
		}
		return nil
	})
	if err != nil || message == nil {
		return nil, err
	}
	var id, expiry uint64
	k := new(datatransfer.Key) // a DataEncryptionKeyProto
	frames.Into(message, frames.To{1: &id, 2: &k.Pool, 3: &k.Nonce, 4: &k.Key, 5: &expiry})
	k.ID = uint32(id)
	known = dataKey{k, time.Now().Add(min(time.Until(time.UnixMilli(int64(expiry)))/2, 10*time.Minute))}
	c.mu.Lock()
	c.key = known
	c.mu.Unlock()
	return known.key, nil
}

// forgetKey makes the next connection request a new key.
func (c *Client) forgetKey() {
	c.mu.Lock()
	c.key = dataKey{}
	c.mu.Unlock()
}

// probeTimeout limits one probe.
const probeTimeout = 5 * time.Second

// Probe sends each DataNode of a block a read request for zero bytes, concurrently. It returns an error for each DataNode
// that does not respond. Any response counts, even a refusal or a closed connection: a frozen process accepts connections
// but does not respond. A DataNode that requires a login closes the connection with the request half read, and so resets it.
func (c *Client) Probe(ctx context.Context, b Block, nodes []DataNode) []error {
	answers := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			if err := c.probe(ctx, b, n); err != nil {
				answers[i] = fmt.Errorf("%s: %w", c.address(n), err)
			}
		})
	}
	wg.Wait()
	return answers
}

func (c *Client) probe(ctx context.Context, b Block, n DataNode) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address(n))
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		return err
	}
	b.token = nil
	p := &peer{conn: nc}
	defer p.during(ctx)()
	if err = p.request(readBlockOp, readRequest(b, "bulkload-probe", 0, 0)); err == nil {
		_, err = nc.Read(make([]byte, 1))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
