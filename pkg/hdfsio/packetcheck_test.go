package hdfsio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// flipByte spoils one byte of an answer, counted from its start, or from its end if it is negative.
func flipByte(at int) func([]byte, readRequest) []byte {
	return func(a []byte, _ readRequest) []byte {
		a = bytes.Clone(a)
		i := at
		if i < 0 {
			i += len(a)
		}
		if i >= 0 && i < len(a) {
			a[i] ^= 0x10
		}
		return a
	}
}

func readAll(t testing.TB, h *HDFS) ([]byte, error) {
	t.Helper()
	f, err := h.Open(t.Context(), "/dir/file")
	testcheck.Must(t, err)
	defer f.Close()
	return io.ReadAll(f)
}

// TestDamagedBlockIsNotRead has one DataNode, whose block has a flipped bit.
func TestDamagedBlockIsNotRead(t *testing.T) {
	data := noise(200_000)
	for _, kind := range []uint64{1, 2} {
		node := newFakeDataNode(t, shape{kind: kind, chunk: 512, packet: 64 << 10, damage: 150_000}, nil)
		h := serveFake(t, fakeBlock{data, []*fakeDataNode{node}})
		got, err := readAll(t, h)
		if !bytes.Equal(got, data[:len(got)]) || len(got) != 128<<10 {
			t.Errorf("%d bytes came, or wrong ones", len(got))
		}
		e := blockError(err)
		if e == nil || !errors.Is(err, ErrBlockChecksum) || e.DataNode != node.listener.Addr().String() || e.Block != "blk_0_1001" || e.Offset != 150_000/512*512 {
			t.Errorf("error %v", err)
		}
		for _, word := range []string{"/dir/file", "hdfs fsck /dir/file", "blk_0_1001", node.listener.Addr().String()} {
			if !strings.Contains(fmt.Sprint(err), word) {
				t.Errorf("error does not name %s: %v", word, err)
			}
		}
		if pe, ok := errors.AsType[*fs.PathError](err); !ok || pe.Path != "/dir/file" {
			t.Errorf("error %v", err)
		}
		testcheck.Must(t, h.Close())
	}
}

// TestDamagedBlockIsBlamedAfterAnotherError has a second DataNode that cannot be reached.
func TestDamagedBlockIsBlamedAfterAnotherError(t *testing.T) {
	data := noise(1000)
	dead := newFakeDataNode(t, usualShape, nil)
	dead.listener.Close()
	h := serveFake(t, fakeBlock{data, []*fakeDataNode{newFakeDataNode(t, shape{kind: 1, chunk: 512, packet: 512, damage: 700}, nil), dead}})
	defer h.Close()
	if _, err := readAll(t, h); blockError(err) == nil {
		t.Errorf("error %v", err)
	}
}

// TestGoodReplicaIsRead fails over from a damaged replica, at the start of the file and in the middle of it.
func TestGoodReplicaIsRead(t *testing.T) {
	data := noise(300_000)
	for _, at := range []int{5, 70, 1000, 150_000, -20, -60} {
		bad := newFakeDataNode(t, usualShape, flipByte(at))
		good := newFakeDataNode(t, usualShape, nil)
		h := serveFake(t, fakeBlock{data, []*fakeDataNode{bad, good}})
		got, err := readAll(t, h)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("byte %d: %d bytes, %v", at, len(got), err)
		}
		if bad.reads != 1 || good.reads > 1 {
			t.Errorf("byte %d: %d and %d reads", at, bad.reads, good.reads)
		}
		testcheck.Must(t, h.Close())
	}
}

// TestShortSkipThenFailover reads a little ahead of where it was, and then loses the DataNode: what comes is what is
// there. The library alone gives bytes of the place before the skip.
func TestShortSkipThenFailover(t *testing.T) {
	data := noise(300_000)
	for _, small := range []bool{true, false} {
		bad := newFakeDataNode(t, usualShape, func(a []byte, _ readRequest) []byte { return a[:min(len(a), 200_000)] })
		good := newFakeDataNode(t, usualShape, nil)
		h := serveFake(t, fakeBlock{data[:250_000], []*fakeDataNode{bad, good}}, fakeBlock{data[250_000:], []*fakeDataNode{good}})
		f, err := h.Open(t.Context(), "/f")
		testcheck.Must(t, err)
		off, size := int64(0), 50_000
		if small {
			size = 100
		}
		for p := make([]byte, size); off+int64(size) <= int64(len(data)); off += int64(size) + 10_000 {
			n, err := f.(io.ReaderAt).ReadAt(p, off)
			if err != nil || !bytes.Equal(p[:n], data[off:off+int64(n)]) {
				t.Fatalf("%d bytes at %d: %d, %v, or wrong ones", size, off, n, err)
			}
		}
		if bad.reads == 0 || good.reads == 0 {
			t.Errorf("%d and %d reads", bad.reads, good.reads)
		}
		testcheck.Must(t, f.Close())
		testcheck.Must(t, h.Close())
	}
}

// TestBlockThatEndsEarlyIsAnError has a DataNode that says that a block is over.
func TestBlockThatEndsEarlyIsAnError(t *testing.T) {
	data := noise(2000)
	short := newFakeDataNode(t, usualShape, func(_ []byte, req readRequest) []byte {
		return usualShape.answer(data[:1000], readRequest{start: req.start, end: 1000})
	})
	h := serveFake(t, fakeBlock{data, []*fakeDataNode{short}})
	defer h.Close()
	got, err := readAll(t, h)
	if blockError(err) == nil || !strings.Contains(err.Error(), "1000 bytes too early") || !bytes.HasPrefix(data[:1000], got) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestEmptyFile has no block.
func TestEmptyFile(t *testing.T) {
	h := serveFake(t)
	defer h.Close()
	if got, err := readAll(t, h); len(got) > 0 || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestReadsAreRightOrFail reads files of all shapes in all ways from DataNodes. One at least is good.
func TestReadsAreRightOrFail(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		t := subtest{TB: t}
		defer t.end()
		s := shape{kind: rapid.Uint64Range(0, 2).Draw(rt, "kind"), chunk: rapid.SampledFrom([]int64{1, 16, 100, 512, 4096}).Draw(rt, "chunk")}
		s.packet = s.chunk * rapid.Int64Range(1, 128).Draw(rt, "chunks")
		var blocks []fakeBlock
		var data []byte
		var nodes []*fakeDataNode
		good := rapid.IntRange(0, 2).Draw(rt, "good")
		for i := range 3 {
			var spoil func([]byte, readRequest) []byte
			if i != good {
				at := rapid.IntRange(-20_000, 20_000).Draw(rt, "at")
				switch cut := rapid.Bool().Draw(rt, "cut"); {
				case cut:
					spoil = func(a []byte, _ readRequest) []byte { return a[:min(len(a), max(at, -at))] }
				case s.kind > 0: // without checksums it is not seen
					spoil = flipByte(at)
				}
			}
			nodes = append(nodes, newFakeDataNode(&t, s, spoil))
		}
		for range rapid.IntRange(1, 3).Draw(rt, "blocks") {
			block := noise(rapid.IntRange(1, 150_000).Draw(rt, "size"))
			data = append(data, block...)
			blocks = append(blocks, fakeBlock{block, nodes})
		}
		h := serveFake(&t, blocks...)
		defer h.Close()
		f, err := h.Open(t.Context(), "/f")
		testcheck.Must(&t, err)
		defer f.Close()
		var seq []byte
		off := int64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "reads") {
			p := make([]byte, rapid.OneOf(rapid.IntRange(1, 600), rapid.IntRange(1, 200_000)).Draw(rt, "length"))
			if rapid.Bool().Draw(rt, "forward") {
				n, err := f.Read(p)
				seq = append(seq, p[:n]...)
				if err != nil && (err != io.EOF || len(seq) != len(data)) {
					rt.Fatalf("Read at %d of %d: %v", len(seq), len(data), err)
				}
				continue
			}
			if rapid.Bool().Draw(rt, "near") {
				off = min(off+rapid.Int64Range(0, 70_000).Draw(rt, "skip"), int64(len(data)))
			} else {
				off = rapid.Int64Range(0, int64(len(data))).Draw(rt, "offset")
			}
			n, err := f.(io.ReaderAt).ReadAt(p, off)
			want := data[off:min(off+int64(len(p)), int64(len(data)))]
			if !bytes.Equal(p[:n], want) || err != nil && err != io.EOF {
				rt.Fatalf("ReadAt(%d bytes, %d) of %d: %d, %v", len(p), off, len(data), n, err)
			}
			off += int64(n)
		}
		if !bytes.Equal(seq, data[:len(seq)]) {
			rt.Fatalf("Read: other bytes in the first %d of %d", len(seq), len(data))
		}
	})
}

// subtest ends what it began before the test does.
type subtest struct {
	testing.TB
	cleanups []func()
}

func (s *subtest) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *subtest) end() {
	for _, f := range s.cleanups {
		f()
	}
}

// TestMalformedPackets gives a reader what no DataNode sends.
func TestMalformedPackets(t *testing.T) {
	data := noise(1000)
	req := readRequest{"blk_1_2", 100, 1000}
	s := usualShape
	sum := appendNumber(appendNumber(nil, 1, 2), 2, 512)
	answer := func(sum []byte, chunkOffset uint64) []byte {
		return protowire.AppendBytes(nil, appendField(appendNumber(nil, 1, 0), 4, appendNumber(appendField(nil, 1, sum), 2, chunkOffset)))
	}
	begin := answer(sum, 0)
	packet := func(data []byte, at int64, seqno uint64, last bool) []byte {
		return s.appendPacket(bytes.Clone(begin), data, at, seqno, last)
	}
	whole := packet(data, 0, 0, false)
	set := func(at int, v ...byte) []byte {
		p := bytes.Clone(whole)
		copy(p[len(begin)+at:], v)
		return p
	}
	for _, c := range []struct {
		what   string
		stream []byte
		why    string
	}{
		{"no length of the answer", bytes.Repeat([]byte{0xff}, 100), "its answer has no length"},
		{"an answer without end", protowire.AppendVarint(nil, 1<<30), "its answer has 1073741824 bytes"},
		{"an answer without checksums", protowire.AppendBytes(nil, appendNumber(nil, 1, 0)), "its answer is malformed"},
		{"an answer with two offsets", protowire.AppendBytes(nil, appendField(appendNumber(nil, 1, 0), 4, appendNumber(appendNumber(appendField(nil, 1, sum), 2, 0), 2, 0))), "its answer is malformed"},
		{"an unknown checksum", answer(appendNumber(appendNumber(nil, 1, 3), 2, 512), 0), "its checksums are of the unknown type 3"},
		{"chunks of nothing", answer(appendNumber(appendNumber(nil, 1, 2), 2, 0), 0), "its checksums are of 0 bytes each"},
		{"a start behind the offset", answer(sum, 512), "it begins at byte 512, byte 100 was requested"},
		{"a start far ahead of the offset", answer(appendNumber(appendNumber(nil, 1, 2), 2, 16), 16), "it begins at byte 16, byte 100 was requested"},
		{"a packet of 2 GiB", set(0, 0x80), "a packet has a length of 2147484660 and a header of 25"},
		{"a packet shorter than its length", set(0, 0, 0, 0, 3), "a packet has a length of 3 and a header of 25"},
		{"a header of 64 KiB", append(set(4, 0xff, 0xff), make([]byte, 70_000)...), "the header of a packet is malformed"},
		{"an empty header", set(4, 0, 0), "the header of a packet is malformed"},
		{"another packet's number", packet(data, 0, 1, false), "packet 1 of byte 0 came in place of packet 0 of byte 0"},
		{"another packet's offset", packet(data, 512, 0, false), "packet 0 of byte 512 came in place of packet 0 of byte 0"},
		{"an empty packet", packet(nil, 0, 0, false), "a packet has 0 bytes of data, the last one has none"},
		{"a last packet with data", packet(data, 0, 0, true), "a packet has 1000 bytes of data, the last one has none"},
		{"a last packet too early", packet(nil, 0, 0, true), "the block ends, 1000 bytes too early"},
		{"more than the block", packet(noise(2000), 0, 0, false), "it ends at byte 2000, after the end of the block at 1000"},
		{"more checksums than data", set(0, 0, 0, 4), "a packet of 1264 bytes has 8 of checksums and 1000 of data"},
		{"a wrong checksum", set(6+27, whole[len(begin)+6+27]^1), "wrong checksum: it is 3ba4ed90 for 512 bytes, their sender has 3ba4ec90"},
	} {
		r := &packetReader{from: bytes.NewReader(c.stream), req: req, dataNode: "dn:1"}
		got, err := io.ReadAll(r)
		if e := blockError(err); e == nil || e.DataNode != "dn:1" || e.Block != "blk_1_2" || e.Err.Error() != c.why || len(got) > len(begin) {
			t.Errorf("%s: %d bytes, %v", c.what, len(got), err)
		}
	}
	// A packet that breaks off gives nothing.
	for n := range whole {
		r := &packetReader{from: bytes.NewReader(whole[:n]), req: req}
		if got, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 0 && len(got) != len(begin) {
			t.Fatalf("%d of %d bytes: %d came, %v", n, len(whole), len(got), err)
		}
	}
	// A refusal goes through as it is.
	refusal := protowire.AppendBytes(nil, appendField(appendNumber(nil, 1, 1), 5, []byte("no such block")))
	if got, err := io.ReadAll(&packetReader{from: bytes.NewReader(refusal), req: req}); !bytes.Equal(got, refusal) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a refusal: %d bytes, %v", len(got), err)
	}
}

// TestReadRequestInPieces sees what is written however it is cut.
func TestReadRequestInPieces(t *testing.T) {
	block := appendNumber(appendNumber(appendField(nil, 1, []byte("pool")), 2, 5), 3, 7)
	op := appendField(nil, 1, appendField(nil, 1, appendField(nil, 1, block)))
	p := protowire.AppendBytes([]byte(readBlockOp), appendNumber(appendNumber(op, 2, 100), 3, 900))
	for n := range p {
		if _, read, whole, err := parseReadRequest(p[:n]); !read && n > 0 || whole || err != nil {
			t.Fatalf("%d bytes: %v %v %v", n, read, whole, err)
		}
	}
	if req, read, whole, err := parseReadRequest(p); req != (readRequest{"blk_5_7", 100, 1000}) || !read || !whole || err != nil {
		t.Errorf("%+v %v %v %v", req, read, whole, err)
	}
	for _, other := range []string{"\x00\x1c\x50", "\x00\x1c\x55..", "\xde\xad\xbe\xef", "\x00\x1b\x51"} {
		if _, read, whole, err := parseReadRequest([]byte(other)); read || !whole || err != nil {
			t.Errorf("%q: %v %v %v", other, read, whole, err)
		}
	}
	for _, bad := range [][]byte{append(bytes.Clone(p), 0), append([]byte(readBlockOp), bytes.Repeat([]byte{0xff}, 12)...), append([]byte(readBlockOp), 1, 0xff)} {
		if _, _, _, err := parseReadRequest(bad); err == nil {
			t.Errorf("%x: no error", bad)
		}
	}
}

// FuzzReadPackets reads anything. What is handed out has right checksums, as read in the simplest way.
func FuzzReadPackets(f *testing.F) {
	data := noise(1500)
	for kind := range uint64(3) {
		req := readRequest{"b", 0, int64(len(data))}
		a := shape{kind: kind, chunk: 512, packet: 1024}.answer(data, req)
		f.Add(a, uint16(0), uint16(len(data)), uint8(3))
		f.Add(flipByte(900)(a, req), uint16(0), uint16(len(data)), uint8(200))
		f.Add(shape{kind: kind, chunk: 100, packet: 300}.answer(data, readRequest{"b", 777, 1500}), uint16(777), uint16(1500-777), uint8(255))
	}
	f.Fuzz(func(t *testing.T, stream []byte, start, size uint16, step uint8) {
		r := &packetReader{from: bytes.NewReader(stream), req: readRequest{"b", int64(start), int64(start) + int64(size)}}
		var got []byte
		p := make([]byte, int(step)+1)
		for {
			n, err := r.Read(p)
			got = append(got, p[:n]...)
			if err != nil && n > 0 {
				t.Fatalf("%d bytes and %v", n, err)
			}
			if err != nil {
				break
			}
		}
		if cap(r.buf) > mostPacket+mostResponse {
			t.Fatalf("%d bytes of buffer", cap(r.buf))
		}
		if !bytes.HasPrefix(stream, got) {
			t.Fatal("other bytes than came")
		}
		if len(got) == 0 {
			return
		}
		message, n := protowire.ConsumeBytes(got)
		if n < 0 {
			t.Fatal("an answer that is not whole")
		}
		a, ok := parseReadResponse(message)
		if got = got[n:]; !ok || a.status != 0 {
			if !ok || len(got) > 0 {
				t.Fatal("bytes behind a refusal")
			}
			return
		}
		for len(got) > 0 {
			length, header := int(binary.BigEndian.Uint32(got))-4, int(binary.BigEndian.Uint16(got[4:]))
			h, _ := parsePacketHeader(got[6 : 6+header])
			body := got[6+header : 6+header+length]
			got = got[6+header+length:]
			sums, data := body[:len(body)-int(h.length)], body[len(body)-int(h.length):]
			for at := 0; at < len(data) && a.kind > 0; at += int(a.chunk) {
				table := crc32.IEEETable
				if a.kind == 2 {
					table = crc32.MakeTable(crc32.Castagnoli)
				}
				if binary.BigEndian.Uint32(sums) != crc32.Checksum(data[at:min(at+int(a.chunk), len(data))], table) {
					t.Fatal("a wrong checksum")
				}
				sums = sums[4:]
			}
		}
	})
}
