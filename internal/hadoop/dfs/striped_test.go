package dfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"
)

// Behaviours of a DataNode on a read request.
const (
	sound = iota
	refusing
	silent   // accepts connections and closes them
	cut      // breaks off after half of a response
	spoiling // sends a byte that differs from the written one
)

// stripes is an HDFS with one erasure coded file. The internal blocks of each group are on its DataNodes in order.
type stripes struct {
	client *Client
	nodes  []*stripeNode

	mu     sync.Mutex
	policy Policy
	data   []byte
	group  int    // bytes per group
	token  string // accepted by the DataNodes
	blocks map[uint64][]byte
	places func(group, index int) []int // the DataNodes of an internal block
	open   bool
	looks  int // number of block location requests
	id     uint64
}

type stripeNode struct {
	at    net.Addr
	harm  int
	reads int
	asked int64 // bytes
}

// firstGroup is the id of the first block group.
const firstGroup = 1<<63 + 1<<20

func newStripes(t *testing.T) *stripes {
	s := &stripes{id: 4711}
	s.client = nameNode(t, s.answer)
	for range maxUnits {
		n := &stripeNode{}
		n.at = testcheck.Serve(t, func(c net.Conn) { s.serve(c, n) }).Addr()
		s.nodes = append(s.nodes, n)
	}
	return s
}

// hold replaces the file. All DataNodes are sound and have no recorded failures.
func (s *stripes) hold(t testing.TB, p Policy, data []byte, group int) {
	blocks := map[uint64][]byte{}
	for g := 0; g*group < len(data); g++ {
		for i, b := range dealt(t, p, data[g*group:min((g+1)*group, len(data))]) {
			blocks[firstGroup+uint64(maxUnits*g+i)] = b
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy, s.data, s.group, s.blocks, s.token, s.open, s.looks = p, data, group, blocks, "token", false, 0
	s.places = func(group, index int) []int { return []int{(group + index) % len(s.nodes)} }
	for _, n := range s.nodes {
		n.harm, n.reads, n.asked = sound, 0, 0
	}
	s.client.failed = nil
}

func (s *stripes) answer(method string, _ []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == "getFileInfo" {
		return frames.AppendBytes(nil, 1, frames.AppendNumber(frames.AppendNumber(nil, 3, uint64(len(s.data))), 13, s.id))
	}
	s.looks++
	var located [][]byte
	for g := 0; g*s.group < len(s.data); g++ {
		n := min(s.group, len(s.data)-g*s.group)
		m := frames.AppendBytes(nil, 1, frames.AppendNumber(blockID(firstGroup+uint64(maxUnits*g), 1001), 4, uint64(n)))
		m = frames.AppendNumber(m, 2, uint64(g*s.group))
		var indices []byte
		for i := range s.policy.units() {
			if len(s.blocks[firstGroup+uint64(maxUnits*g+i)]) == 0 {
				continue // the NameNode knows no location of an empty block
			}
			for _, node := range s.places(g, i) {
				_, port, _ := net.SplitHostPort(s.nodes[node].at.String())
				number, _ := strconv.ParseUint(port, 10, 16)
				m = frames.AppendBytes(m, 3, nodeInfo(port, number))
				m = frames.AppendBytes(m, 10, fmt.Sprint(s.token, i))
				indices = append(indices, byte(i))
			}
		}
		located = append(located, frames.AppendBytes(frames.AppendBytes(m, 5, "of the group"), 9, indices))
	}
	return locations(uint64(len(s.data)), protowire.EncodeBool(s.open), located...)
}

// serve serves reads as one of the DataNodes.
func (s *stripes) serve(c net.Conn, n *stripeNode) {
	for {
		op, message, err := testdfs.TakeOperation(c)
		if err != nil || op != testdfs.ReadBlock {
			return
		}
		req := testdfs.ParseRead(message)
		header, _ := frames.Bytes(message, 1)
		base, _ := frames.Bytes(header, 1)
		token, _ := frames.Bytes(base, 2)
		s.mu.Lock()
		n.reads++
		n.asked += req.End - req.Start
		block, harm, good := s.blocks[req.Block], n.harm, fmt.Sprint(s.token, req.Block%maxUnits) == string(token)
		s.mu.Unlock()
		a := testdfs.Shape{Kind: 2, Chunk: 16, Packet: 64}.Answer(block, req)
		switch {
		case harm == silent:
			return
		case !good:
			a = testdfs.Status(badToken)
		case harm == refusing || req.End > int64(len(block)):
			a = testdfs.Status(1)
		case harm == cut:
			_, _ = c.Write(a[:len(a)/2])
			return
		case harm == spoiling:
			a = testdfs.Shape{Kind: 2, Chunk: 16, Packet: 64, Damage: max(req.End-1, 1)}.Answer(block, req)
		}
		if _, err := c.Write(a); err != nil || harm != sound {
			return
		}
		if _, err := c.Read(make([]byte, 3)); err != nil { // ClientReadStatusProto
			return
		}
	}
}

// reader returns a reader of the file.
func (s *stripes) reader() *StripedReader {
	return s.client.OpenStriped("/f", s.id, int64(len(s.data)), s.policy)
}

// readFrom reads up to n bytes from an offset, with reads of at most piece bytes.
func readFrom(ctx context.Context, r *StripedReader, off int64, n, piece int) (got []byte, err error) {
	p := make([]byte, piece)
	for len(got) < n {
		m, err := r.ReadAt(ctx, p[:min(piece, n-len(got))], off+int64(len(got)))
		got = append(got, p[:m]...)
		if err != nil {
			return got, err
		}
	}
	return got, nil
}

// TestStriped reads files of any policy and size, forward and at random places. Some DataNodes fail: as many as the policy tolerates must
// not matter; with more the bytes must be right or there is an error.
func TestStriped(t *testing.T) {
	s := newStripes(t)
	testcheck.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom([]Policy{{"xor", "xor", 2, 1, 128}, {"rs32", "rs", 3, 2, 64}, {"rs63", "rs", 6, 3, 128}, {"rs104", "rs", 10, 4, 48}}).Draw(rt, "policy")
		stripe := int(p.Cell) * p.Data
		n := rapid.OneOf(rapid.IntRange(1, 9*stripe), rapid.Map(rapid.IntRange(1, 8), func(n int) int { return n * stripe })).Draw(rt, "n")
		data := noise(n)
		s.hold(t, p, data, rapid.IntRange(1, 4).Draw(rt, "stripes of a group")*stripe)
		bad := rapid.SliceOfNDistinct(rapid.IntRange(0, len(s.nodes)-1), 0, p.Parity+2, rapid.ID[int]).Draw(rt, "bad")
		for _, i := range bad {
			s.nodes[i].harm = rapid.IntRange(refusing, spoiling).Draw(rt, "harm")
		}
		right := func(what string, off int64, size, piece int, r *StripedReader) {
			got, err := readFrom(t.Context(), r, off, size, piece)
			if !bytes.HasPrefix(data[off:], got) {
				rt.Fatalf("%s: wrong bytes at %d", what, off)
			}
			if len(got) < size && err == nil || err != nil && len(bad) <= p.Parity {
				rt.Fatalf("%s at %d: %d bytes of %d, %v", what, off, len(got), size, err)
			}
		}
		r := s.reader()
		defer r.Close()
		piece := rapid.IntRange(1, 2*stripe)
		right("forward", 0, n, piece.Draw(rt, "piece"), r)
		for range 4 {
			off := rapid.IntRange(0, n-1).Draw(rt, "off")
			right("at a place", int64(off), rapid.IntRange(1, min(n-off, 2*stripe)).Draw(rt, "size"), piece.Draw(rt, "piece"), r)
		}
		r.Close()
		right("closed in between", 0, n, piece.Draw(rt, "piece"), r)
	})
}

// TestStripedAsksForLittle checks that a few bytes need one request, and that a row is read once, with or without lost blocks.
func TestStripedAsksForLittle(t *testing.T) {
	s := newStripes(t)
	p := Policy{"rs63", "rs", 6, 3, 256}
	data := noise(8 * 6 * 256)
	asked := func() (reads int, n int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, node := range s.nodes {
			reads, n = reads+node.reads, n+node.asked
		}
		return reads, n
	}
	s.hold(t, p, data, len(data))
	r := s.reader()
	got, err := readFrom(t.Context(), r, 6*256+300, 100, 100)
	if reads, _ := asked(); err != nil || !bytes.Equal(got, data[6*256+300:][:100]) || reads != 1 {
		t.Errorf("100 bytes: %d requests, %v", reads, err)
	}
	for _, lost := range [][]int{nil, {1}, {0, 3, 5}} {
		s.hold(t, p, data, len(data))
		for _, i := range lost {
			s.nodes[i].harm = silent
		}
		r := s.reader()
		got, err := readFrom(t.Context(), r, 0, len(data), 100)
		reads, n := asked()
		t.Logf("without %v: %d requests, %d bytes asked of %d", lost, reads, n, len(data))
		// Blocks that were read before the first loss are read once more from the start of the row.
		if err != nil || !bytes.Equal(got, data) || len(lost) == 0 && (n != int64(len(data)) || reads != 6) || reads > 6+12*len(lost) {
			t.Errorf("without %v: %d requests, %d bytes of %d, %v", lost, reads, n, len(data), err)
		}
		// Failed DataNodes are not tried again.
		before, _ := asked()
		if got, err = readFrom(t.Context(), s.reader(), 0, len(data), 512); err != nil || !bytes.Equal(got, data) {
			t.Errorf("again without %v: %v", lost, err)
		}
		if reads, _ = asked(); reads-before != 6 {
			t.Errorf("again without %v: %d requests", lost, reads-before)
		}
	}
}

// TestStripedPlaces checks that one of two DataNodes with an internal block is enough, that new tokens are requested once, and that
// changed or incomplete files and invalid responses are refused.
func TestStripedPlaces(t *testing.T) {
	s := newStripes(t)
	p := Policy{"xor", "xor", 2, 1, 64}
	data := noise(1000)
	s.hold(t, p, data, 512)
	s.places = func(_, index int) []int { return [][]int{{0, 1}, {2, 3}, {}}[index] }
	s.nodes[0].harm, s.nodes[3].harm = spoiling, refusing
	whole := func(what string, r *StripedReader) {
		t.Helper()
		if got, err := readFrom(t.Context(), r, 0, len(data), 100); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	whole("two places of each block", s.reader())
	s.hold(t, p, data, 512)
	r := s.reader()
	if _, err := readFrom(t.Context(), r, 0, 10, 10); err != nil {
		t.Error(err)
	}
	s.token = "another"
	whole("new tokens", r)
	if s.looks != 2 {
		t.Errorf("%d looks for blocks", s.looks)
	}
	refused := func(what, why string, is error, r *StripedReader) {
		t.Helper()
		got, err := readFrom(t.Context(), r, 0, len(data), 100)
		if err == nil || !bytes.HasPrefix(data, got) || !strings.Contains(err.Error(), why) || is != nil && !errors.Is(err, is) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	s.open = true
	refused("a file that is written", "read it when its writer has closed it", errBeingWritten, s.reader())
	s.open = false
	r = s.reader()
	r.coder.Data = 1
	refused("a block too many", "has an internal block 2, the policy xor has 2", nil, r)
	s.hold(t, p, data, 512)
	s.nodes[0].harm, s.nodes[1].harm = silent, spoiling
	refused("a damaged block and a lost one", "1 of the 2 internal blocks that blk_-9223372036853727232_1001 needs can be read", ErrBlockChecksum, s.reader())
	s.hold(t, p, data, 512)
	r = s.reader()
	s.id++
	if _, err := readFrom(t.Context(), r, 0, 10, 10); !errors.Is(err, ErrReplaced) {
		t.Errorf("another file: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := readFrom(ctx, s.reader(), 0, 10, 10); !errors.Is(err, gone) {
		t.Errorf("a context that has ended: %v", err)
	}
	for what, change := range map[string]func(*Block){
		"a block of no group": func(b *Block) { b.indices = nil }, "a positive number": func(b *Block) { b.id = blockID(16, 1) }, "a number that is not a group's": func(b *Block) { b.id = blockID(firstGroup+1, 1) },
	} {
		b := Block{id: blockID(firstGroup, 1), indices: []byte{}}
		change(&b)
		if _, err := s.reader().divide(b); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}
