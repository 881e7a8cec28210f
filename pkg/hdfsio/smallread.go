package hdfsio

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// Reopen implements [Reopener]. One call of the NameNode says that the file is closed, how long it is and that its only block
// is the one that was written; all of its bytes are read at once and their checksums compared, over a connection to a DataNode
// that the files before it have left. When anything about that is not as it should be, the file is opened as any other.
func (w *interimWriter) Reopen(ctx context.Context) (fs.File, error) {
	if w.file == nil {
		return w.h.Open(ctx, w.name)
	}
	data := w.h.small.buffer()
	err := w.readBack(ctx, data)
	if err == nil {
		return &wholeFile{Reader: bytes.NewReader(*data), info: *w.file, data: data, small: &w.h.small}, nil
	}
	w.h.small.buffers.Put(data)
	if ctx.Err() != nil {
		return nil, &fs.PathError{Op: "open", Path: w.name, Err: context.Cause(ctx)}
	}
	w.h.o.Log.Warn("a small file is read in the way of large ones", "path", w.name, "error", err)
	return w.h.Open(ctx, w.name)
}

// readBack reads the file into data.
func (w *interimWriter) readBack(ctx context.Context, data *[]byte) error {
	r := appendVarint(appendVarint(appendText(nil, 1, w.name), 2, 0), 3, uint64(w.file.size)) // GetBlockLocationsRequestProto
	answer, _, err := w.h.ask(ctx, "getBlockLocations", r)
	if err != nil {
		return err
	}
	block, token, node, err := onlyBlock(answer, w.file.size, w.block.id)
	if err != nil {
		return err
	}
	d, err := w.h.serverDefaults(ctx)
	if err != nil {
		return err
	}
	read := blockRead{block: block, token: token, client: w.h.small.clientName(), size: w.file.size, data: data}
	if p := w.h.small.peers.take(w.h.address(node)); p != nil {
		if err := w.h.readBlock(ctx, p, read); err == nil || ctx.Err() != nil {
			return err
		}
		// It may have been closed for being idle.
	}
	p, err := w.h.dialPeer(ctx, node, d.encrypted)
	if err != nil {
		return err
	}
	return w.h.readBlock(ctx, p, read)
}

// onlyBlock takes from a GetBlockLocationsResponseProto the block of a closed file that has one, with the first DataNode to
// ask for it. The block must be the one that was written.
func onlyBlock(answer []byte, size int64, wrote []byte) (block, token []byte, node dataNode, err error) {
	located, ok := fieldBytes(answer, 1)
	var blocks [][]byte
	length, open := uint64(0), uint64(1)
	ok = ok && frames.Fields(located, func(field protowire.Number, number uint64, data []byte) {
		switch {
		case field == 1 && data == nil:
			length = number
		case field == 2 && data != nil:
			blocks = append(blocks, data)
		case field == 3 && data == nil:
			open = number
		}
	})
	switch {
	case !ok:
		return nil, nil, node, errors.New("the namenode's answer to getBlockLocations is malformed")
	case open != 0:
		return nil, nil, node, errors.New("the file is not closed")
	case length != uint64(size) || len(blocks) != 1:
		return nil, nil, node, fmt.Errorf("the file has %d bytes in %d blocks, written were %d in one", length, len(blocks), size)
	}
	given, ok := parseGivenBlock(appendMessage(nil, 1, blocks[0]))
	if !ok {
		return nil, nil, node, errors.New("the block of the file is nowhere")
	}
	for _, field := range []protowire.Number{2, 3} { // id and stamp of an ExtendedBlockProto
		if fieldNumber(given.id, field) != fieldNumber(wrote, field) {
			return nil, nil, node, errors.New("the file has another block than the one that was written")
		}
	}
	token, _ = fieldBytes(blocks[0], 5)
	return given.id, token, given.nodes[0], nil
}

// blockRead is a block to be read whole.
type blockRead struct {
	block, token []byte
	client       string
	size         int64
	data         *[]byte // where to
}

// readBlock reads a block and compares its checksums. The connection is kept for the next one.
func (h *HDFS) readBlock(ctx context.Context, p *peer, r blockRead) error {
	end := p.during(ctx)
	err := r.read(p)
	if stopped := end(); !stopped && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		p.conn.Close()
		return fmt.Errorf("read from datanode %s: %w", p.address, err)
	}
	h.small.peers.keep(p)
	return nil
}

func (r *blockRead) read(p *peer) error {
	const checksumOK = 6 // of Status
	header := operationHeader(r.block, r.token, r.client)
	op := appendVarint(appendVarint(appendMessage(nil, 1, header), 2, 0), 3, uint64(r.size)) // OpReadBlockProto
	if _, err := p.conn.Write(appendOperation(nil, readBlockOp, op)); err != nil {
		return err
	}
	checked := &packetReader{from: p.conn, req: readRequest{block: blockName(header), end: r.size}, dataNode: p.address, buf: p.packet}
	err := unpack(r.data, checked, r.size)
	p.packet = checked.buf
	if err != nil {
		return err
	}
	// With this the DataNode waits for another request.
	_, err = p.conn.Write(protowire.AppendBytes(nil, appendVarint(nil, 1, checksumOK))) // ClientReadStatusProto
	return err
}

// unpack takes the bytes of a block out of a DataNode's answer, which was checked, and puts them into to.
func unpack(to *[]byte, checked io.Reader, size int64) error {
	in := byteReader{checked}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, checked, int64(n)); err != nil {
		return err
	}
	data := slices.Grow((*to)[:0], int(size))
	for {
		var start [packetStart]byte
		if _, err := io.ReadFull(checked, start[:]); err != nil {
			return err
		}
		header := make([]byte, binary.BigEndian.Uint16(start[4:]))
		if _, err := io.ReadFull(checked, header); err != nil {
			return err
		}
		h, ok := parsePacketHeader(header)
		sums := int64(binary.BigEndian.Uint32(start[:])) - 4 - h.length
		if !ok || sums < 0 || h.length < 0 || h.length > size-int64(len(data)) {
			return errors.New("a packet is malformed")
		}
		if h.last {
			break
		}
		if _, err := io.CopyN(io.Discard, checked, sums); err != nil {
			return err
		}
		at := len(data)
		data = data[:at+int(h.length)]
		if _, err := io.ReadFull(checked, data[at:]); err != nil {
			return err
		}
	}
	if int64(len(data)) != size {
		return fmt.Errorf("the block has %d bytes, written were %d", len(data), size)
	}
	*to = data
	return nil
}

type byteReader struct{ io.Reader }

func (r byteReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r.Reader, b[:])
	return b[0], err
}

// wholeFile is a file that was read whole.
type wholeFile struct {
	*bytes.Reader
	info  smallInfo
	data  *[]byte // nil once it is closed
	small *smallFiles
}

func (f *wholeFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close gives the bytes up: what follows reads none.
func (f *wholeFile) Close() error {
	if f.data != nil {
		f.Reset(nil)
		f.small.buffers.Put(f.data)
		f.data = nil
	}
	return nil
}

// peers are idle connections to DataNodes, on which a block was read.
type peers struct {
	mu     sync.Mutex
	idle   []*peer
	closed bool
}

const (
	// idlePeer is how long a connection may have been idle to be used again: half of what a DataNode waits by default
	// (dfs.datanode.socket.reuse.keepalive).
	idlePeer = 2 * time.Second
	// mostPeers bounds them. Each is a thread of its DataNode.
	mostPeers = 32
)

// take gives a connection to a DataNode, or nil.
func (s *peers) take(address string) *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	for i := len(s.idle) - 1; i >= 0; i-- {
		if p := s.idle[i]; p.address == address {
			s.idle = append(s.idle[:i], s.idle[i+1:]...)
			return p
		}
	}
	return nil
}

func (s *peers) keep(p *peer) {
	p.since = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if s.closed || len(s.idle) == mostPeers {
		p.conn.Close()
		return
	}
	s.idle = append(s.idle, p)
}

// expire closes those that are idle for too long, which are the first ones.
func (s *peers) expire() {
	for len(s.idle) > 0 && time.Since(s.idle[0].since) > idlePeer {
		s.idle[0].conn.Close()
		s.idle = s.idle[1:]
	}
}

func (s *peers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, p := range s.idle {
		p.conn.Close()
	}
	s.idle = nil
}
