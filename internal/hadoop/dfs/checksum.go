package dfs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"bulkload/internal/hadoop/frames"
)

// ErrNoChecksum is matched by errors of a file system without checksums from which a whole file's CRC-32C can be
// computed: DataNodes before Hadoop 3.1.1, checksums other than CRC-32C.
var ErrNoChecksum = errors.New("the file system gives no checksum of the whole file")

// Numbers of datatransfer.proto and hdfs.proto, Hadoop 3.4.
const (
	blockChecksumOptions = 2 // of OpBlockChecksumProto
	checksumType         = 1 // of BlockChecksumOptionsProto
	compositeCRC         = 2 // a BlockChecksumTypeProto
	crc32cType           = 2 // a ChecksumTypeProto
)

// Checksum returns the CRC-32C of the first size bytes of a file, computed from the checksums that DataNodes store with its blocks:
// no data are read. One replica of each block is queried.
//
// The operation is BLOCK_CHECKSUM with the option COMPOSITE_CRC (datatransfer.proto, Hadoop 3.1.1 and later), which Java's
// getFileChecksum uses if `dfs.checksum.combine.mode` is COMPOSITE_CRC.
func (c *Client) Checksum(ctx context.Context, name string, size int64) (sum uint32, err error) {
	l, err := c.Locate(ctx, name, 0, size)
	if err != nil {
		return 0, err
	}
	end := int64(0)
	for _, b := range l.Blocks {
		of, err := c.blockChecksum(ctx, b)
		if err != nil {
			return 0, err
		}
		sum = combineCRC(sum, of, b.Size)
		end += b.Size
	}
	if end != size {
		return 0, fmt.Errorf("checksums of %d bytes came for a file of %d", end, size)
	}
	return sum, nil
}

// blockChecksum queries the DataNodes of a block until one answers.
func (c *Client) blockChecksum(ctx context.Context, b Block) (sum uint32, err error) {
	err = fmt.Errorf("no datanode has %s", b)
	for _, n := range c.order(b.Nodes) {
		if sum, err = c.askChecksum(ctx, b, n); err == nil || ctx.Err() != nil || errors.Is(err, ErrNoChecksum) {
			break
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return sum, err
}

func (c *Client) askChecksum(ctx context.Context, b Block, n DataNode) (uint32, error) {
	p, err := c.dial(ctx, n, b)
	if err != nil {
		return 0, err
	}
	defer p.conn.Close()
	defer p.during(ctx)()
	options := frames.AppendNumber(nil, checksumType, compositeCRC)
	if err = p.request(blockChecksumOp, frames.AppendBytes(frames.AppendBytes(nil, 1, baseHeader(b)), blockChecksumOptions, options)); err != nil {
		return 0, err
	}
	m, err := p.response()
	if errors.Is(err, io.ErrUnexpectedEOF) && c.unsummed(ctx, b, n) {
		return 0, fmt.Errorf("%w: it was written without checksums (dfs.checksum.type)", ErrNoChecksum)
	}
	if err != nil {
		return 0, fmt.Errorf("checksum of datanode %s: %w", p.address, err)
	}
	return parseSum(m)
}

// unsummed reports whether a DataNode has no checksums for a block: it closes the connection when their sum is requested.
func (c *Client) unsummed(ctx context.Context, b Block, n DataNode) bool {
	r, err := c.readBlock(ctx, b, n, holder(), 0, min(b.Size, 1))
	if err != nil {
		return false
	}
	r.close()
	return r.packets.size == 0
}

// parseSum parses the BlockOpResponseProto of a checksum.
func parseSum(message []byte) (sum uint32, err error) {
	var kind uint64
	var value, options []byte
	answer, ok := frames.Bytes(message, 3)
	ok = ok && frames.Into(answer, frames.To{3: &value, 4: &kind, 5: &options})
	how := frames.Number(options, checksumType)
	switch {
	case !ok:
		return 0, errors.New("BLOCK_CHECKSUM: an answer is malformed")
	case how != compositeCRC:
		return 0, fmt.Errorf("%w: its DataNodes are older than Hadoop 3.1.1", ErrNoChecksum)
	case kind != crc32cType:
		return 0, fmt.Errorf("%w: its checksums are not CRC-32C (dfs.checksum.type)", ErrNoChecksum)
	case len(value) != 4:
		return 0, fmt.Errorf("BLOCK_CHECKSUM: a checksum of %d bytes", len(value))
	}
	return binary.BigEndian.Uint32(value), nil
}

// combineCRC returns the CRC-32C of two adjoining pieces of bytes, given their checksums and the length of the
// second. It extends the first by as many zero bytes as the second has, by squaring the operator of one zero bit
// (crc32_combine of zlib; CrcUtil.compose of Hadoop 3.1 does the same).
func combineCRC(first, second uint32, size int64) uint32 {
	if size <= 0 {
		return first
	}
	// Column i is the result of shifting a zero bit into a checksum with only bit i set.
	var op [32]uint32
	op[0] = crc32.Castagnoli
	for i := 1; i < len(op); i++ {
		op[i] = 1 << (i - 1)
	}
	for range 3 { // one bit, two, four, a byte
		op = squared(&op)
	}
	for ; size > 0; size >>= 1 {
		if size&1 != 0 {
			first = applied(&op, first)
		}
		op = squared(&op)
	}
	return first ^ second
}

func applied(op *[32]uint32, v uint32) (sum uint32) {
	for i := 0; v != 0; i, v = i+1, v>>1 {
		if v&1 != 0 {
			sum ^= op[i]
		}
	}
	return sum
}

func squared(op *[32]uint32) (double [32]uint32) {
	for i, column := range op {
		double[i] = applied(op, column)
	}
	return double
}
