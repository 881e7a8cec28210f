package dfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"

	"bulkload/internal/hadoop/datatransfer"
	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testdfs"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestMalformedPackets reads responses that no DataNode sends.
func TestMalformedPackets(t *testing.T) {
	data := noise(1000)
	block := Block{id: frames.AppendNumber(frames.AppendNumber(nil, 2, 1), 3, 2)}
	s := testdfs.UsualShape
	sum := frames.AppendNumber(frames.AppendNumber(nil, 1, 2), 2, 512)
	answer := testdfs.ReadResponse
	begin := answer(sum, 0)
	packet := func(data []byte, at int64, seqno uint64, last bool) []byte {
		return s.AppendPacket(bytes.Clone(begin), data, at, seqno, last)
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
		{"an answer without checksums", protowire.AppendBytes(nil, frames.AppendNumber(nil, 1, 0)), "its answer is malformed"},
		{"an answer with two offsets", protowire.AppendBytes(nil, frames.AppendBytes(frames.AppendNumber(nil, 1, 0), 4, frames.AppendNumber(frames.AppendNumber(frames.AppendBytes(nil, 1, sum), 2, 0), 2, 0))), "its answer is malformed"},
		{"an unknown checksum", answer(frames.AppendNumber(frames.AppendNumber(nil, 1, 3), 2, 512), 0), "its checksums are of the unknown type 3"},
		{"chunks of nothing", answer(frames.AppendNumber(frames.AppendNumber(nil, 1, 2), 2, 0), 0), "its checksums are of 0 bytes each"},
		{"a start behind the offset", answer(sum, 512), "it begins at byte 512, byte 100 was requested"},
		{"a start far ahead of the offset", answer(frames.AppendNumber(frames.AppendNumber(nil, 1, 2), 2, 16), 16), "it begins at byte 16, byte 100 was requested"},
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
		{"a wrong checksum", set(6+27, whole[len(begin)+6+27]^1), "wrong checksum: it is 775e30fc for 512 bytes, their sender has 775e31fc"},
	} {
		got, err := readPackets(&packetReader{from: bytes.NewReader(c.stream), dataNode: "dn:1", block: block, start: 100, end: 1000})
		if e, ok := errors.AsType[*BlockError](err); !ok || e.DataNode != "dn:1" || e.Block != "blk_1_2" || e.Err.Error() != c.why || len(got) > 0 {
			t.Errorf("%s: %d bytes, %v", c.what, len(got), err)
		}
	}
	// A truncated packet returns no bytes.
	for n := range whole {
		if got, err := readPackets(&packetReader{from: bytes.NewReader(whole[:n]), end: 1000}); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 0 {
			t.Fatalf("%d of %d bytes: %d came, %v", n, len(whole), len(got), err)
		}
	}
	// A refusal is a different error.
	refusal := protowire.AppendBytes(nil, frames.AppendBytes(frames.AppendNumber(nil, 1, 1), 5, "no such block"))
	if got, err := readPackets(&packetReader{from: bytes.NewReader(refusal)}); len(got) > 0 || err == nil || err.Error() != "it refuses with status 1: no such block" {
		t.Errorf("a refusal: %d bytes, %v", len(got), err)
	}
	if _, err := readPackets(&packetReader{from: bytes.NewReader(testdfs.Status(badToken))}); !errors.Is(err, datatransfer.ErrToken) {
		t.Errorf("a refused token: %v", err)
	}
}

// readPackets reads all data of a reader. The end of the block is not an error.
func readPackets(r *packetReader) ([]byte, error) {
	if err := r.response(); err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// FuzzReadPackets reads arbitrary streams. Returned bytes must have valid checksums according to a simple reader.
func FuzzReadPackets(f *testing.F) {
	data := noise(1500)
	for kind := range uint64(3) {
		req := testdfs.Read{End: int64(len(data))}
		a := testdfs.Shape{Kind: kind, Chunk: 512, Packet: 1024}.Answer(data, req)
		f.Add(a, uint16(0), uint16(len(data)), uint8(3))
		f.Add(testdfs.FlipByte(a, 900), uint16(0), uint16(len(data)), uint8(200))
		f.Add(testdfs.Shape{Kind: kind, Chunk: 100, Packet: 300}.Answer(data, testdfs.Read{Start: 777, End: 1500}), uint16(777), uint16(1500-777), uint8(255))
	}
	f.Fuzz(func(t *testing.T, stream []byte, start, size uint16, step uint8) {
		r := &packetReader{from: bytes.NewReader(stream), start: int64(start), end: int64(start) + int64(size)}
		if r.response() != nil {
			return
		}
		var got []byte
		p := make([]byte, int(step)+1)
		for {
			n, err := r.Read(p)
			got = append(got, p[:n]...)
			if err != nil && n > 0 {
				t.Fatalf("%d bytes and %v", n, err)
			}
			if err == io.EOF && len(got) != int(size) || len(got) > int(size) {
				t.Fatalf("%d bytes of %d", len(got), size)
			}
			if err != nil {
				break
			}
		}
		if cap(r.buf) > maxPacket+maxResponse {
			t.Fatalf("%d bytes of buffer", cap(r.buf))
		}
		if want := plainly(stream, int64(start)); !bytes.HasPrefix(want, got) {
			t.Fatalf("%d bytes came that are not those of good packets", len(got))
		}
	})
}

// plainly reads a response with a valid start in the simplest way, until the first invalid packet. The data begin at offset
// start.
func plainly(stream []byte, start int64) (data []byte) {
	m, n := protowire.ConsumeBytes(stream)
	stream = stream[n:]
	info, _ := onlyBytes(m, 4)
	sum, _ := onlyBytes(info, 1)
	kind, chunk, at := frames.Number(sum, 1), int(frames.Number(sum, 2)), int64(frames.Number(info, 2))
	table := map[uint64]*crc32.Table{1: crc32.IEEETable, 2: crc32.MakeTable(crc32.Castagnoli)}[kind]
	for len(stream) >= 6 {
		length, header := int(binary.BigEndian.Uint32(stream))-4, int(binary.BigEndian.Uint16(stream[4:]))
		if length < 0 || len(stream) < 6+header+length {
			break
		}
		h, _ := parsePacketHeader(stream[6 : 6+header])
		body := stream[6+header : 6+header+length]
		stream = stream[6+header+length:]
		if h.length < 0 || int(h.length) > len(body) || h.offset != at {
			break
		}
		sums, part := body[:len(body)-int(h.length)], body[len(body)-int(h.length):]
		for off := 0; off < len(part) && table != nil; off += chunk {
			if len(sums) < 4 || binary.BigEndian.Uint32(sums) != crc32.Checksum(part[off:min(off+chunk, len(part))], table) {
				return data
			}
			sums = sums[4:]
		}
		data = append(data, part[min(max(start-at, 0), int64(len(part))):]...)
		at += h.length
	}
	return data
}

// noise returns bytes that do not repeat.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
