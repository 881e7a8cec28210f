package hdfsio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Bounds of what a DataNode sends. Hadoop's own for a packet is dfs.data.transfer.max.packet.size, 16 MiB.
const (
	mostResponse = 1 << 20
	mostPacket   = 16 << 20
	leastBuffer  = 512
	packetStart  = 6 // the lengths that a packet begins with
)

// BlockError is a block that a DataNode did not send as it was written: a checksum is wrong, or what it sent is no answer
// to the request. Nothing of it was handed out.
type BlockError struct {
	DataNode string // address
	Block    string // blk_ID_STAMP, as the tools of HDFS have it
	Offset   int64  // in the block, where it was found
	Err      error  // ErrBlockChecksum, or what was wrong with the answer
}

func (e *BlockError) Error() string {
	return fmt.Sprintf("datanode %s sent %s damaged at byte %d of the block: %v", e.DataNode, e.Block, e.Offset, e.Err)
}

func (e *BlockError) Unwrap() error { return e.Err }

// ErrBlockChecksum is in a [BlockError] whose bytes are not those that were written.
var ErrBlockChecksum = errors.New("wrong checksum")

// packetReader reads a DataNode's answer to READ_BLOCK: a BlockOpResponseProto, then packets (DataTransferProtocol,
// PacketHeader and PacketReceiver of Hadoop 3). It hands out the same bytes, a packet only when all of it is there and
// all of its checksums are right.
//
// The client library compares the checksums too, but only after it has put the bytes into the caller's buffer, and
// then takes the error for one that follows them. It also hands out what it has of a packet that breaks off.
type packetReader struct {
	from     io.Reader
	req      readRequest
	dataNode string

	buf     []byte
	given   int // of buf, up to here it was handed out
	checked int // up to here it may be handed out
	have    int // up to here it was read
	ahead   int // length of the last packet, probably that of the next one

	sum   *crc32.Table // nil for none
	size  int          // of a checksum
	chunk int64        // bytes that have one
	next  int64        // offset in the block of the next packet
	seqno int64        // of the next packet

	begun bool  // the response was read
	err   error // the end
}

// Read implements io.Reader.
func (r *packetReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.given == r.checked {
		if r.err == nil {
			r.err = r.advance()
		}
		if r.given == r.checked {
			return 0, r.err
		}
	}
	n := copy(p, r.buf[r.given:r.checked])
	r.given += n
	return n, nil
}

// advance makes the next frame one that may be handed out.
func (r *packetReader) advance() error {
	copy(r.buf, r.buf[r.checked:r.have])
	r.have -= r.checked
	r.given, r.checked = 0, 0
	if r.begun {
		return r.packet()
	}
	r.begun = true
	return r.response()
}

// need reads until n bytes of the frame are there. It continues to the length of the last packet if that costs no more.
func (r *packetReader) need(n int) error {
	if n > len(r.buf) {
		r.buf = append(make([]byte, 0, max(n, leastBuffer)), r.buf[:r.have]...)
		r.buf = r.buf[:cap(r.buf)]
	}
	for idle := 0; r.have < n; {
		m, err := r.from.Read(r.buf[r.have:min(max(n, r.ahead), len(r.buf))])
		r.have += m
		switch {
		case r.have >= n:
			return nil // an error comes again
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

func (r *packetReader) response() error {
	r.ahead = leastBuffer
	length, n := uint64(0), 0
	for i := 1; ; i++ {
		if err := r.need(i); err != nil {
			return err
		}
		if length, n = protowire.ConsumeVarint(r.buf[:i]); n > 0 {
			break
		}
		if i == binary.MaxVarintLen32 {
			return r.malformed("its answer has no length")
		}
	}
	if length > mostResponse {
		return r.malformed("its answer has %d bytes", length)
	}
	whole := n + int(length)
	if err := r.need(whole); err != nil {
		return err
	}
	a, ok := parseReadResponse(r.buf[n:whole])
	switch {
	case !ok:
		return r.malformed("its answer is malformed")
	case a.status != 0:
		r.checked = whole
		return io.ErrUnexpectedEOF // a refusal: nothing follows it
	}
	switch a.kind {
	case 0:
	case 1:
		r.sum, r.size = crc32.IEEETable, crc32.Size
	case 2:
		r.sum, r.size = crc32.MakeTable(crc32.Castagnoli), crc32.Size
	default:
		return r.malformed("its checksums are of the unknown type %d", a.kind)
	}
	if a.chunk < 1 || a.chunk > mostPacket {
		return r.malformed("its checksums are of %d bytes each", a.chunk)
	}
	r.chunk = int64(a.chunk)
	// The library discards what is before the offset that it wants; it does not notice when that is missing.
	if a.offset > uint64(r.req.start) || uint64(r.req.start)-a.offset >= a.chunk {
		return r.malformed("it begins at byte %d, byte %d was requested", a.offset, r.req.start)
	}
	r.next = int64(a.offset)
	r.checked = whole
	return nil
}

func (r *packetReader) packet() error {
	if err := r.need(packetStart); err != nil {
		return err
	}
	// The first length counts itself, the checksums and the data.
	length := int64(binary.BigEndian.Uint32(r.buf))
	header := int(binary.BigEndian.Uint16(r.buf[4:]))
	if length < 4 || length-4+int64(header) > mostPacket {
		return r.malformed("a packet has a length of %d and a header of %d", length, header)
	}
	start := packetStart + header
	if err := r.need(start); err != nil {
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
	case h.last && r.next < r.req.end:
		return r.malformed("the block ends, %d bytes too early", r.req.end-r.next)
	case !h.last && (r.next >= r.req.end || r.next+h.length-r.req.end >= r.chunk):
		return r.malformed("it ends at byte %d, after the end of the block at %d", r.next+h.length, r.req.end)
	}
	sums := (h.length + r.chunk - 1) / r.chunk * int64(r.size)
	if length-4 != sums+h.length {
		return r.malformed("a packet of %d bytes has %d of checksums and %d of data", length-4, sums, h.length)
	}
	whole := start + int(sums+h.length)
	if err := r.need(whole); err != nil {
		return err
	}
	if err := r.check(r.buf[start:start+int(sums)], r.buf[start+int(sums):whole]); err != nil {
		return err
	}
	r.checked, r.ahead = whole, whole
	r.next += h.length
	r.seqno++
	if h.last {
		return io.ErrUnexpectedEOF // for the next read
	}
	return nil
}

// check compares the checksums of a packet with its data.
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
		at = r.req.start // before the first packet
	}
	return &BlockError{DataNode: r.dataNode, Block: r.req.block, Offset: at, Err: err}
}
