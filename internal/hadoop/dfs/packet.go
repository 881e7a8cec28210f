package dfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// Limits of data sent by a DataNode. Hadoop's own limit of a packet is dfs.data.transfer.max.packet.size, 16 MiB.
const (
	maxPacket   = 16 << 20
	minBuffer   = 512
	packetStart = 6 // the lengths at the start of a packet
)

// BlockError reports a block that a DataNode did not send as it was written: a checksum is wrong, or the response does
// not match the request. None of its bytes were returned.
type BlockError struct {
	DataNode string // address
	Block    string // blk_ID_STAMP, as HDFS's tools print it
	Offset   int64  // in the block, where the error was found
	Err      error  // ErrBlockChecksum, or the error in the response
}

func (e *BlockError) Error() string {
	return fmt.Sprintf("datanode %s sent %s damaged at byte %d of the block: %v", e.DataNode, e.Block, e.Offset, e.Err)
}

func (e *BlockError) Unwrap() error { return e.Err }

// ErrBlockChecksum is wrapped by a [BlockError] for bytes that differ from the written ones.
var ErrBlockChecksum = errors.New("wrong checksum")

// packetReader reads a DataNode's response to READ_BLOCK: a BlockOpResponseProto, then packets (DataTransferProtocol,
// PacketHeader and PacketReceiver of Hadoop 3). It returns the bytes [start, end) of the block. It returns bytes of a packet
// only after the whole packet has arrived and all of its checksums have been verified.
type packetReader struct {
	from       io.Reader
	dataNode   string
	block      Block
	start, end int64

	buf   []byte
	data  []byte // part of buf: verified, not yet returned
	frame int    // end of the used part of buf
	have  int    // end of the filled part of buf
	ahead int    // length of the last packet, probably also of the next one

	sum   *crc32.Table // nil: no checksums
	size  int          // of a checksum
	chunk int64        // bytes covered by a checksum; 0 before the response was read
	next  int64        // offset in the block of the next packet
	seqno int64        // of the next packet
	err   error        // final error; io.EOF after the last packet
}

func (r *packetReader) Read(p []byte) (int, error) {
	for len(r.data) == 0 {
		switch {
		case len(p) == 0:
			return 0, nil
		case r.err != nil:
			return 0, r.err
		}
		r.err = r.packet()
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// fill reads until n bytes of the frame are buffered. A read may extend to the length of the last packet if that needs no larger
// buffer.
func (r *packetReader) fill(n int) error {
	if n > len(r.buf) {
		r.buf = append(make([]byte, 0, max(n, minBuffer)), r.buf[:r.have]...)
		r.buf = r.buf[:cap(r.buf)]
	}
	for idle := 0; r.have < n; {
		m, err := r.from.Read(r.buf[r.have:min(max(n, r.ahead), len(r.buf))])
		r.have += m
		switch {
		case r.have >= n:
			return nil // an error will be returned again by the next read
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case m > 0:
			idle = 0
		default:
			if idle++; idle == 100 {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}

// response reads the response that precedes the packets.
func (r *packetReader) response() error {
	r.ahead = minBuffer
	length, n := uint64(0), 0
	for i := 1; ; i++ {
		if err := r.fill(i); err != nil {
			return err
		}
		if length, n = protowire.ConsumeVarint(r.buf[:i]); n > 0 {
			break
		}
		if i == binary.MaxVarintLen32 {
			return r.malformed("its answer has no length")
		}
	}
	if length > maxResponse {
		return r.malformed("its answer has %d bytes", length)
	}
	r.frame = n + int(length)
	if err := r.fill(r.frame); err != nil {
		return err
	}
	m := r.buf[n:r.frame]
	var status uint64
	if !numbers(m, map[protowire.Number]*uint64{1: &status}) {
		return r.malformed("its answer is malformed")
	}
	if status != 0 {
		return checkResponse(m)
	}
	var kind, chunk, offset uint64
	info, ok := onlyBytes(m, 4)
	ok = ok && numbers(info, map[protowire.Number]*uint64{2: &offset})
	sum, ok2 := onlyBytes(info, 1)
	if !ok || !ok2 || !numbers(sum, map[protowire.Number]*uint64{1: &kind, 2: &chunk}) {
		return r.malformed("its answer is malformed")
	}
	switch kind {
	case 0:
	case 1:
		r.sum, r.size = crc32.IEEETable, crc32.Size
	case 2:
		r.sum, r.size = crc32.MakeTable(crc32.Castagnoli), crc32.Size
	default:
		return r.malformed("its checksums are of the unknown type %d", kind)
	}
	if chunk < 1 || chunk > maxPacket {
		return r.malformed("its checksums are of %d bytes each", chunk)
	}
	if offset > uint64(r.start) || uint64(r.start)-offset >= chunk {
		return r.malformed("it begins at byte %d, byte %d was requested", offset, r.start)
	}
	r.chunk, r.next = int64(chunk), int64(offset)
	return nil
}

func (r *packetReader) packet() error {
	copy(r.buf, r.buf[r.frame:r.have])
	r.have -= r.frame
	r.frame = 0
	if err := r.fill(packetStart); err != nil {
		return err
	}
	// The first length includes itself, the checksums and the data.
	length := int64(binary.BigEndian.Uint32(r.buf))
	header := int(binary.BigEndian.Uint16(r.buf[4:]))
	if length < 4 || length-4+int64(header) > maxPacket {
		return r.malformed("a packet has a length of %d and a header of %d", length, header)
	}
	start := packetStart + header
	if err := r.fill(start); err != nil {
		return err
	}
	h, ok := parsePacketHeader(r.buf[packetStart:start])
	switch {
	case !ok:
		return r.malformed("the header of a packet is malformed")
	case h.offset != r.next || h.seqno != r.seqno:
		return r.malformed("packet %d of byte %d came in place of packet %d of byte %d", h.seqno, h.offset, r.seqno, r.next)
	case h.length < 0 || h.last != (h.length == 0):
		return r.malformed("a packet has %d bytes of data, the last one has none", h.length)
	case h.last && r.next < r.end:
		return r.malformed("the block ends, %d bytes too early", r.end-r.next)
	case !h.last && (r.next >= r.end || r.next+h.length-r.end >= r.chunk):
		return r.malformed("it ends at byte %d, after the end of the block at %d", r.next+h.length, r.end)
	}
	sums := (h.length + r.chunk - 1) / r.chunk * int64(r.size)
	if length-4 != sums+h.length {
		return r.malformed("a packet of %d bytes has %d of checksums and %d of data", length-4, sums, h.length)
	}
	whole := start + int(sums+h.length)
	if err := r.fill(whole); err != nil {
		return err
	}
	data := r.buf[start+int(sums) : whole]
	if err := r.check(r.buf[start:start+int(sums)], data); err != nil {
		return err
	}
	r.frame, r.ahead = whole, whole
	if h.last {
		return io.EOF
	}
	// The first and the last chunk are sent whole.
	r.data = data[min(max(r.start-r.next, 0), h.length):max(min(r.end-r.next, h.length), 0)]
	r.next += h.length
	r.seqno++
	return nil
}

// check verifies the checksums of a packet's data.
func (r *packetReader) check(sums, data []byte) error {
	if r.sum == nil {
		return nil
	}
	for at := int64(0); len(data) > 0; at += r.chunk {
		piece := data[:min(int64(len(data)), r.chunk)]
		if want, is := binary.BigEndian.Uint32(sums), crc32.Checksum(piece, r.sum); want != is {
			r.next += at
			return r.damaged(fmt.Errorf("%w: it is %08x for %d bytes, their sender has %08x", ErrBlockChecksum, is, len(piece), want))
		}
		sums, data = sums[r.size:], data[len(piece):]
	}
	return nil
}

func (r *packetReader) malformed(format string, args ...any) error {
	return r.damaged(fmt.Errorf(format, args...))
}

func (r *packetReader) damaged(err error) error {
	at := r.next
	if r.chunk == 0 {
		at = r.start // before the first packet
	}
	return &BlockError{DataNode: r.dataNode, Block: r.block.String(), Offset: at, Err: err}
}

// numbers reads fields that must occur exactly once, each a number. This is stricter than Protocol Buffers: a field that
// occurs twice would be ambiguous.
func numbers(message []byte, into map[protowire.Number]*uint64) bool {
	found := 0
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		if p, ok := into[field]; ok {
			if p == nil || kind != protowire.VarintType {
				return false
			}
			*p, n = protowire.ConsumeVarint(message)
			into[field] = nil
			found++
		} else {
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return false
		}
		message = message[n:]
	}
	return found == len(into)
}

// onlyBytes returns a field that must occur exactly once.
func onlyBytes(message []byte, number protowire.Number) (value []byte, ok bool) {
	found := 0
	sound := frames.Fields(message, func(field protowire.Number, _ uint64, data []byte) {
		if field == number {
			value = data
			found++
		}
	})
	return value, sound && found == 1 && value != nil
}

// packetHeader is a PacketHeaderProto.
type packetHeader struct {
	offset, seqno, length int64
	last                  bool
}

// parsePacketHeader requires all fields, each exactly once.
func parsePacketHeader(message []byte) (h packetHeader, ok bool) {
	kinds := [...]protowire.Type{1: protowire.Fixed64Type, 2: protowire.Fixed64Type, 3: protowire.VarintType, 4: protowire.Fixed32Type}
	seen := 0
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return h, false
		}
		message = message[n:]
		if int(field) < len(kinds) {
			if kind != kinds[field] || seen&(1<<field) != 0 {
				return h, false
			}
			seen |= 1 << field
		}
		var v uint64
		var w uint32
		switch field {
		case 1:
			v, n = protowire.ConsumeFixed64(message)
			h.offset = int64(v)
		case 2:
			v, n = protowire.ConsumeFixed64(message)
			h.seqno = int64(v)
		case 3:
			v, n = protowire.ConsumeVarint(message)
			h.last = protowire.DecodeBool(v)
		case 4:
			w, n = protowire.ConsumeFixed32(message)
			h.length = int64(int32(w))
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return h, false
		}
		message = message[n:]
	}
	return h, seen == 1<<1|1<<2|1<<3|1<<4
}
