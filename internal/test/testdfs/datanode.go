package testdfs

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// Operations of a DataNode.
const (
	WriteBlock = 80
	ReadBlock  = 81
)

// TakeOperation reads a request to a DataNode.
func TakeOperation(r io.Reader) (op byte, message []byte, err error) {
	var head [3]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n, err := binary.ReadUvarint(byteReader{r})
	if err == nil {
		message = make([]byte, n)
		_, err = io.ReadFull(r, message)
	}
	return head[2], message, err
}

type byteReader struct{ io.Reader }

func (r byteReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r.Reader, b[:])
	return b[0], err
}

// Read is the request of an OpReadBlockProto: a block and bytes [Start, End) of it.
type Read struct {
	Block      uint64
	Start, End int64
}

// ParseRead parses an OpReadBlockProto.
func ParseRead(message []byte) Read {
	header, _ := frames.Bytes(message, 1)
	base, _ := frames.Bytes(header, 1)
	block, _ := frames.Bytes(base, 1)
	start := int64(frames.Number(message, 2))
	return Read{frames.Number(block, 2), start, start + int64(frames.Number(message, 3))}
}

// Shape is the format in which a DataNode sends a block.
type Shape struct {
	Kind          uint64 // of checksums: 0 none, 1 CRC-32, 2 CRC-32C
	Chunk, Packet int64  // Packet is a multiple of Chunk
	Damage        int64  // position of a byte of the block that the disk has changed, 0 for none
}

// UsualShape is Hadoop's format.
var UsualShape = Shape{Kind: 2, Chunk: 512, Packet: 64 << 10}

// Answer returns the response of a DataNode to a read.
func (s Shape) Answer(data []byte, req Read) []byte {
	start := req.Start / s.Chunk * s.Chunk
	end := min((req.End+s.Chunk-1)/s.Chunk*s.Chunk, int64(len(data)))
	sum := frames.AppendNumber(frames.AppendNumber(nil, 1, s.Kind), 2, uint64(s.Chunk))
	a := ReadResponse(sum, uint64(start))
	seqno := uint64(0)
	for ; start < end; seqno++ {
		n := min(s.Packet, end-start)
		a = s.AppendPacket(a, data[start:start+n], start, seqno, false)
		start += n
	}
	return s.AppendPacket(a, nil, start, seqno, true)
}

// ReadResponse returns a BlockOpResponseProto of a read, prefixed by its length: a ChecksumProto, and the offset of
// the data.
func ReadResponse(sum []byte, offset uint64) []byte {
	info := frames.AppendNumber(frames.AppendBytes(nil, 1, sum), 2, offset)
	return protowire.AppendBytes(nil, frames.AppendBytes(frames.AppendNumber(nil, 1, 0), 4, info))
}

// AppendPacket appends a packet of a block.
func (s Shape) AppendPacket(a, data []byte, at int64, seqno uint64, last bool) []byte {
	var sums []byte
	for off := int64(0); off < int64(len(data)) && s.Kind > 0; off += s.Chunk {
		table := crc32.IEEETable
		if s.Kind == 2 {
			table = crc32.MakeTable(crc32.Castagnoli)
		}
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[off:min(off+s.Chunk, int64(len(data)))], table))
	}
	h := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), uint64(at))
	h = protowire.AppendFixed64(protowire.AppendTag(h, 2, protowire.Fixed64Type), seqno)
	h = frames.AppendNumber(h, 3, protowire.EncodeBool(last))
	h = protowire.AppendFixed32(protowire.AppendTag(h, 4, protowire.Fixed32Type), uint32(len(data)))
	a = binary.BigEndian.AppendUint32(a, uint32(4+len(sums)+len(data)))
	a = binary.BigEndian.AppendUint16(a, uint16(len(h)))
	a = append(append(append(a, h...), sums...), data...)
	if s.Damage >= at && s.Damage < at+int64(len(data)) && s.Damage > 0 {
		a[int64(len(a)-len(data))+s.Damage-at] ^= 4
	}
	return a
}

// FlipByte damages one byte of a response, counted from its start, or from its end if at is negative.
func FlipByte(a []byte, at int) []byte {
	a = append([]byte(nil), a...)
	if at < 0 {
		at += len(a)
	}
	if at >= 0 && at < len(a) {
		a[at] ^= 0x10
	}
	return a
}

// Status returns a BlockOpResponseProto of a status, prefixed by its length.
func Status(status uint64) []byte {
	return protowire.AppendBytes(nil, frames.AppendNumber(nil, 1, status))
}

// Acknowledge returns a PipelineAckProto, prefixed by its length.
func Acknowledge(seqno int64, replies ...uint64) []byte {
	m := frames.AppendNumber(nil, 1, protowire.EncodeZigZag(seqno))
	for _, r := range replies {
		m = frames.AppendNumber(m, 2, r)
	}
	return protowire.AppendBytes(nil, m)
}
