package hdfsio

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
)

func appendNumber(m []byte, number protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), value)
}

// fakeHDFS is a NameNode with one file, for faults that a real one does not have.
type fakeHDFS struct {
	listener net.Listener
	size     int
	blocks   []fakeBlock
}

type fakeBlock struct {
	data  []byte
	nodes []*fakeDataNode
}

// serveFake is an HDFS with one file, whose name is any.
func serveFake(t testing.TB, blocks ...fakeBlock) *HDFS {
	t.Helper()
	f := &fakeHDFS{blocks: blocks}
	for i, b := range blocks {
		f.size += len(b.data)
		for _, n := range b.nodes {
			n.blocks[uint64(i)] = b.data
		}
	}
	f.listener = testcheck.Serve(t, f.serve)
	h, err := NewHDFS(HDFSOptions{Addresses: []string{f.listener.Addr().String()}, User: "u", IOTimeout: time.Minute,
		Log: slog.New(slog.DiscardHandler)})
	testcheck.Must(t, err)
	return h
}

func (f *fakeHDFS) serve(c net.Conn) {
	if _, err := io.ReadFull(c, make([]byte, 7)); err != nil {
		return
	}
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		frame := append(head, make([]byte, binary.BigEndian.Uint32(head))...)
		if _, err := io.ReadFull(c, frame[4:]); err != nil {
			return
		}
		messages, ok := splitFrame(frame)
		if !ok || len(messages) != 3 {
			continue // the connection's context
		}
		var id uint64
		frames.Fields(messages[0], func(field protowire.Number, number uint64, _ []byte) {
			if field == 3 {
				id = uint64(protowire.DecodeZigZag(number))
			}
		})
		method, _ := fieldBytes(messages[1], 1)
		if _, err := c.Write(joinFrame(appendNumber(appendNumber(nil, 1, id), 2, 0), f.answer(string(method)))); err != nil {
			return
		}
	}
}

func (f *fakeHDFS) answer(method string) []byte {
	var m []byte
	switch method {
	case "getFileInfo":
		m = appendField(appendNumber(m, 1, 2), 2, []byte("file"))
		m = appendField(appendNumber(m, 3, uint64(f.size)), 4, appendNumber(nil, 1, 0o644))
		m = appendField(appendField(m, 5, []byte("u")), 6, []byte("g"))
		return appendField(nil, 1, appendNumber(appendNumber(appendNumber(m, 7, 1), 8, 1), 13, 4711))
	case "getServerDefaults":
		for field, v := range []uint64{1: 1 << 20, 2: 512, 3: 65536, 4: 1, 5: 4096} {
			if field > 0 {
				m = appendNumber(m, protowire.Number(field), v)
			}
		}
		return appendField(nil, 1, m)
	case "getBlockLocations":
		m = appendNumber(m, 1, uint64(f.size))
		at := 0
		for i, b := range f.blocks {
			id := appendNumber(appendNumber(appendField(nil, 1, []byte("pool")), 2, uint64(i)), 3, 1001)
			located := appendNumber(appendField(nil, 1, appendNumber(id, 4, uint64(len(b.data)))), 2, uint64(at))
			for _, n := range b.nodes {
				located = appendField(located, 3, n.info())
			}
			token := appendField(appendField(appendField(appendField(nil, 1, nil), 2, nil), 3, nil), 4, nil)
			m = appendField(m, 2, appendField(appendNumber(located, 4, 0), 5, token))
			at += len(b.data)
		}
		return appendField(nil, 1, appendNumber(appendNumber(m, 3, 0), 5, 1))
	}
	return nil
}

// fakeDataNode serves blocks as a DataNode does, unless spoil changes its answers.
type fakeDataNode struct {
	listener net.Listener
	blocks   map[uint64][]byte
	shape    shape
	spoil    func(answer []byte, req readRequest) []byte // nil for none

	mu    sync.Mutex
	reads int
}

// shape is how a block is sent.
type shape struct {
	kind          uint64 // of checksums
	chunk, packet int64  // packet is a multiple of chunk
	damage        int64  // a byte of the block that the disk has changed, 0 for none
}

var usualShape = shape{kind: 2, chunk: 512, packet: 64 << 10}

func newFakeDataNode(t testing.TB, s shape, spoil func([]byte, readRequest) []byte) *fakeDataNode {
	n := &fakeDataNode{blocks: map[uint64][]byte{}, shape: s, spoil: spoil}
	n.listener = testcheck.Serve(t, n.serve)
	return n
}

func (n *fakeDataNode) info() []byte {
	_, port, _ := net.SplitHostPort(n.listener.Addr().String())
	number, _ := strconv.ParseUint(port, 10, 16)
	id := appendField(appendField(appendField(nil, 1, []byte("127.0.0.1")), 2, []byte("localhost")), 3, []byte(port))
	return appendField(nil, 1, appendNumber(appendNumber(appendNumber(id, 4, number), 5, 1), 6, 1))
}

func (n *fakeDataNode) serve(c net.Conn) {
	var got []byte
	for {
		p := make([]byte, 4096)
		m, err := c.Read(p)
		got = append(got, p[:m]...)
		req, read, whole, e := parseReadRequest(got)
		if err != nil || e != nil || !read {
			return
		}
		if !whole {
			continue
		}
		n.mu.Lock()
		n.reads++
		n.mu.Unlock()
		_, message := protowire.ConsumeVarint(got[3:])
		header, _ := fieldBytes(got[3+message:], 1)
		base, _ := fieldBytes(header, 1)
		block, _ := fieldBytes(base, 1)
		var id uint64
		frames.Fields(block, func(field protowire.Number, number uint64, _ []byte) {
			if field == 2 {
				id = number
			}
		})
		a := n.shape.answer(n.blocks[id], req)
		if n.spoil != nil {
			a = n.spoil(a, req)
		}
		_, _ = c.Write(a)
		return
	}
}

// answer is what a DataNode sends of a block.
func (s shape) answer(data []byte, req readRequest) []byte {
	start := req.start / s.chunk * s.chunk
	end := min((req.end+s.chunk-1)/s.chunk*s.chunk, int64(len(data)))
	sum := appendNumber(appendNumber(nil, 1, s.kind), 2, uint64(s.chunk))
	info := appendNumber(appendField(nil, 1, sum), 2, uint64(start))
	a := protowire.AppendBytes(nil, appendField(appendNumber(nil, 1, 0), 4, info))
	seqno := uint64(0)
	for ; start < end; seqno++ {
		n := min(s.packet, end-start)
		a = s.appendPacket(a, data[start:start+n], start, seqno, false)
		start += n
	}
	return s.appendPacket(a, nil, start, seqno, true)
}

func (s shape) appendPacket(a, data []byte, at int64, seqno uint64, last bool) []byte {
	var sums []byte
	for off := int64(0); off < int64(len(data)) && s.kind > 0; off += s.chunk {
		table := crc32.IEEETable
		if s.kind == 2 {
			table = crc32.MakeTable(crc32.Castagnoli)
		}
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[off:min(off+s.chunk, int64(len(data)))], table))
	}
	h := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), uint64(at))
	h = protowire.AppendFixed64(protowire.AppendTag(h, 2, protowire.Fixed64Type), seqno)
	h = appendNumber(h, 3, protowire.EncodeBool(last))
	h = protowire.AppendFixed32(protowire.AppendTag(h, 4, protowire.Fixed32Type), uint32(len(data)))
	a = binary.BigEndian.AppendUint32(a, uint32(4+len(sums)+len(data)))
	a = binary.BigEndian.AppendUint16(a, uint16(len(h)))
	a = append(append(append(a, h...), sums...), data...)
	if s.damage >= at && s.damage < at+int64(len(data)) && s.damage > 0 {
		a[int64(len(a)-len(data))+s.damage-at] ^= 4
	}
	return a
}
