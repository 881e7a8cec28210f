package dfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"bulkload/internal/hadoop/datatransfer"
	"bulkload/internal/hadoop/frames"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// maxSkip is the maximum distance that a reader skips by reading instead of sending a new request.
	maxSkip = 64 << 10
	// prefetch is the number of bytes of a file whose blocks are located at a time.
	prefetch = 4 << 30
	// failedFor is how long a DataNode that failed is tried after the others.
	failedFor = 10 * time.Minute
)

// Errors of a [Reader] that callers handle.
var (
	ErrReplaced = errors.New("the file was replaced while it was read")
	errChanged  = errors.New("the file is not as it was written")
)

// Reader reads a file. It must be used by one goroutine.
type Reader struct {
	client *Client
	name   string
	id     uint64 // of the file
	size   int64  // of the file, as given to Open
	wrote  *Block // the only block of the file, as written; nil if unknown
	holder string

	blocks []Block // the located blocks
	block  Block   // the current block
	stream stream
	tried  []string // DataNodes that failed for this block
	fresh  bool     // the block's token is new
	last   error    // error of the DataNodes that failed for this block
}

// Open returns a reader of the file with the given inode number and length. It does not connect.
func (c *Client) Open(name string, id uint64, size int64) *Reader {
	return &Reader{client: c, name: name, id: id, size: size, holder: holder()}
}

// OpenWritten returns a reader of a file that must consist of exactly the given block. It does not connect.
func (c *Client) OpenWritten(name string, b Block) *Reader {
	return &Reader{client: c, name: name, size: b.Size, wrote: &b, holder: holder()}
}

// ReadAt reads at least one byte at an offset before the end of the file. Each replica is tried once, those on DataNodes
// that failed recently after the others. After an error the next call tries all replicas again. An error of the NameNode
// is a [NameNodeError].
func (r *Reader) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	for {
		if !r.stream.reaches(off - r.block.Offset) {
			if err := r.connect(ctx, off); err != nil {
				r.Forget()
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				return 0, err
			}
		}
		n, err := r.stream.read(p, off-r.block.Offset)
		if err == nil {
			return n, nil
		}
		r.fail(r.stream.from.packets.dataNode, err)
	}
}

// Close closes the connection. The next call opens a new one.
func (r *Reader) Close() { r.stream.close() }

// Forget closes the connection, and forgets the block locations and failed DataNodes.
func (r *Reader) Forget() {
	r.Close()
	r.blocks, r.block, r.tried, r.fresh, r.last = nil, Block{}, nil, false, nil
}

// fail records that a DataNode failed. It keeps the error of a damaged block, which says more than later errors.
func (r *Reader) fail(address string, err error) {
	r.Close()
	r.tried = append(r.tried, address)
	r.client.failure(address)
	r.last = combineErrors(r.last, err)
}

// combineErrors returns err, combined with the previous error if that is a BlockError and err is not.
func combineErrors(before, err error) error {
	_, was := errors.AsType[*BlockError](before)
	if _, is := errors.AsType[*BlockError](err); was && !is {
		err = fmt.Errorf("%w; before that %w", err, before)
	}
	return err
}

func (r *Reader) connect(ctx context.Context, off int64) error {
	for {
		if err := r.locate(ctx, off); err != nil {
			return err
		}
		stale := false
		for _, n := range r.client.order(r.block.Nodes) {
			address := r.client.address(n)
			if slices.Contains(r.tried, address) {
				continue
			}
			from, err := r.client.readBlock(ctx, r.block, n, r.holder, off-r.block.Offset, min(r.block.Size, r.size-r.block.Offset))
			if err == nil {
				r.stream = stream{from, off - r.block.Offset}
				return nil
			}
			if ctx.Err() != nil || ofNameNode(err) {
				return err
			}
			if stale = !r.fresh && errors.Is(err, datatransfer.ErrToken); stale {
				break
			}
			r.fail(address, err)
		}
		switch {
		case stale:
			r.fresh, r.blocks = true, nil // locating the blocks again gives new tokens
		case r.last != nil:
			return r.last
		default:
			return fmt.Errorf("no datanode has %s", r.block)
		}
	}
}

// locate sets r.block to the block that contains a byte of the file.
func (r *Reader) locate(ctx context.Context, off int64) error {
	at := func(b Block) bool { return b.Offset <= off && off < b.Offset+b.Size }
	i := slices.IndexFunc(r.blocks, at)
	if i < 0 {
		l, err := r.client.Locate(ctx, r.name, off, min(r.size-off, prefetch))
		if err != nil {
			return &NameNodeError{err}
		}
		if err := r.compare(ctx, l); err != nil {
			return err
		}
		if i = slices.IndexFunc(l.Blocks, at); i < 0 {
			return fmt.Errorf("no block has byte %d", off)
		}
		r.blocks = l.Blocks
	}
	if b := r.blocks[i]; !b.Same(r.block) {
		r.tried, r.last = nil, nil
	}
	r.block = r.blocks[i]
	return nil
}

// compare returns an error if the file is no longer the one that was opened or written.
func (r *Reader) compare(ctx context.Context, l Located) error {
	if r.wrote != nil {
		if l.Open || l.Length != r.size || len(l.Blocks) != 1 || !l.Blocks[0].Same(*r.wrote) {
			return errChanged
		}
		return nil
	}
	return r.client.unchanged(ctx, r.name, r.id, r.size)
}

// unchanged returns an error unless the file still has the inode number and at least the given size.
func (c *Client) unchanged(ctx context.Context, name string, id uint64, size int64) error {
	s, err := c.status(ctx, name)
	if err != nil {
		return &NameNodeError{err}
	}
	if s.id != id || s.length < size {
		return ErrReplaced
	}
	return nil
}

func (c *Client) failure(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = map[string]time.Time{}
	}
	c.failed[address] = time.Now()
}

// failedAt returns the time when a DataNode failed, zero if it did not fail recently.
func (c *Client) failedAt(n DataNode) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.failed[c.address(n)]; time.Since(at) < failedFor {
		return at
	}
	return time.Time{}
}

// order sorts DataNodes that failed recently to the end.
func (c *Client) order(nodes []DataNode) []DataNode {
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b DataNode) int { return c.failedAt(a).Compare(c.failedAt(b)) })
	return nodes
}

// stream reads forward in a block from one DataNode.
type stream struct {
	from *blockReader // nil: closed
	pos  int64        // in the block
}

// reaches reports whether the stream can read a byte of the block. It closes a connection whose position is too far away.
func (s *stream) reaches(off int64) bool {
	if s.from != nil && (off < s.pos || off-s.pos > maxSkip || off >= s.from.packets.end) {
		s.close()
	}
	return s.from != nil
}

// read reads at least one byte at an offset that the stream reaches.
func (s *stream) read(p []byte, off int64) (int, error) {
	if off > s.pos {
		skipped, err := io.CopyN(io.Discard, s.from, off-s.pos)
		s.pos += skipped
		if err != nil {
			return 0, err
		}
	}
	n, err := s.from.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	s.pos += int64(n)
	if n > 0 && s.pos == s.from.packets.end {
		s.from.finish()
		s.from = nil
	}
	return n, err
}

func (s *stream) close() {
	if s.from != nil {
		s.from.close()
		s.from = nil
	}
}

// blockReader reads a part of a block from a DataNode.
type blockReader struct {
	client  *Client
	peer    *peer
	packets packetReader
	stop    func() bool
}

// readRequest returns an OpReadBlockProto.
func readRequest(b Block, client string, start, size int64) []byte {
	return frames.AppendNumber(frames.AppendNumber(frames.AppendBytes(nil, 1, clientHeader(b, client)), 2, uint64(start)), 3, uint64(size))
}

// readBlock starts reading the bytes [start, end) of a block. Reading ends with the context.
func (c *Client) readBlock(ctx context.Context, b Block, n DataNode, client string, start, end int64) (*blockReader, error) {
	p := c.idle(n)
	for {
		if p == nil {
			var err error
			if p, err = c.dial(ctx, n, b); err != nil {
				return nil, err
			}
		}
		r := &blockReader{client: c, peer: p, stop: p.during(ctx),
			packets: packetReader{from: p.conn, dataNode: p.address, block: b, start: start, end: end, buf: p.packet}}
		err := p.request(readBlockOp, readRequest(b, client, start, end-start))
		if err == nil {
			err = r.packets.response()
		}
		if err == nil {
			return r, nil
		}
		r.close()
		if !p.used || ctx.Err() != nil {
			if _, ok := errors.AsType[*BlockError](err); !ok {
				err = fmt.Errorf("read from datanode %s: %w", p.address, err)
			}
			return nil, err
		}
		p = nil // closed by the DataNode for being idle
	}
}

func (r *blockReader) Read(p []byte) (int, error) {
	n, err := r.packets.Read(p)
	if _, ok := errors.AsType[*BlockError](err); err != nil && err != io.EOF && !ok {
		err = fmt.Errorf("read from datanode %s: %w", r.peer.address, err)
	}
	return n, err
}

// finish keeps the connection for the next block if all bytes were read. After the status the DataNode waits for another request.
func (r *blockReader) finish() {
	_, err := r.packets.Read(make([]byte, 1))
	if err == io.EOF && r.packets.have == r.packets.frame {
		_, err = r.peer.conn.Write(protowire.AppendBytes(nil, frames.AppendNumber(nil, 1, checksumOK))) // ClientReadStatusProto
	}
	if err != nil || !r.stop() {
		r.close()
		return
	}
	r.peer.packet = r.packets.buf
	r.client.keep(r.peer)
}

func (r *blockReader) close() {
	r.stop()
	r.peer.conn.Close()
}
