package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// DefaultMaxBlock is the default limit on the uncompressed size of a block that
// a Reader accepts.
const DefaultMaxBlock = 256 << 20

// block is one block of a file.
type block struct {
	offset       int64
	name         string // HBase's name: DATA, ENCODED_DATA, LEAF_INDEX, …
	onDisk       int    // size without header, with checksums
	uncompressed int    // payload size
	prev         int64  // offset of the previous block of the same kind, −1 if there is none
	checksum     ChecksumType
	bytesPerSum  int
	payload      []byte // decompressed; valid until the next block is read

	kind   blockKind
	onData int // header and data, without checksums
}

func (b *block) end() int64 { return b.offset + headerSize + int64(b.onDisk) }

// blockReader reads blocks one at a time into its own buffers.
type blockReader struct {
	r        io.ReaderAt
	limit    int64 // offset after the last block
	comp     decompressor
	maxBlock int
	block    block
	ahead    []byte // bytes read beyond the last block
	aheadAt  int64
	atOnce   int // bytes fetched at a time, 0 for readAhead
}

// readAhead is the number of bytes fetched at a time when blocks are read in order.
const readAhead = 256 << 10

// fetch returns n bytes of the file at off. They are valid until the next fetch.
func (b *blockReader) fetch(off int64, n int) ([]byte, error) {
	if from := off - b.aheadAt; from >= 0 && from+int64(n) <= int64(len(b.ahead)) {
		return b.ahead[from : from+int64(n)], nil
	}
	atOnce := b.atOnce
	if atOnce == 0 {
		atOnce = readAhead
	}
	want := int(min(max(int64(n), int64(atOnce)), b.limit-off))
	// Bytes that are already buffered are kept, so that reads in order fetch
	// each byte of the file once and never seek backwards.
	have := 0
	if from := off - b.aheadAt; from >= 0 && from < int64(len(b.ahead)) {
		have = copy(b.ahead, b.ahead[from:])
	}
	b.ahead = slices.Grow(b.ahead[:have], want-have)[:want]
	b.aheadAt = off
	if m, err := b.r.ReadAt(b.ahead[have:], off+int64(have)); m < want-have {
		b.ahead = b.ahead[:0]
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read %d bytes at offset %d: %w", want-have, off+int64(have), err)
	}
	return b.ahead[:n], nil
}

// read reads, verifies and decompresses the block at off. The result is
// overwritten by the next call.
func (b *blockReader) read(off int64) (*block, error) {
	if err := b.header(off); err != nil {
		return nil, err
	}
	blk := &b.block
	disk, err := b.fetch(off, headerSize+blk.onDisk)
	if err != nil {
		return nil, err
	}
	if err := verifyChecksums(blk, disk); err != nil {
		return nil, err
	}
	if blk.payload, err = b.comp.unpack(disk[headerSize:blk.onData], blk.uncompressed); err != nil {
		return nil, fmt.Errorf("%s block at offset %d: %w", blk.name, off, err)
	}
	return blk, nil
}

// header reads and checks the header of the block at off into b.block.
func (b *blockReader) header(off int64) error {
	blk := &b.block
	*blk = block{offset: off}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: block at offset %d: %s", ErrCorrupt, off, fmt.Sprintf(format, args...))
	}
	if off < 0 || off > b.limit-headerSize {
		return bad("blocks end at %d", b.limit)
	}
	h, err := b.fetch(off, headerSize)
	if err != nil {
		return err
	}
	kind, ok := kindOf(h[:8])
	if !ok {
		return bad("unknown block type %q", h[:8])
	}
	blk.kind, blk.name = kind, blockKinds[kind].name
	onDisk := int32(binary.BigEndian.Uint32(h[8:]))
	raw := int32(binary.BigEndian.Uint32(h[12:]))
	blk.prev = int64(binary.BigEndian.Uint64(h[16:]))
	perSum := int32(binary.BigEndian.Uint32(h[25:]))
	onData := int32(binary.BigEndian.Uint32(h[29:]))
	switch {
	case onDisk < 0 || int64(onDisk) > b.limit-off-headerSize:
		return bad("%d bytes on disk, but blocks end at %d", onDisk, b.limit)
	case raw < 0:
		return bad("%d bytes uncompressed", raw)
	case int64(raw) > int64(b.maxBlock):
		return bad("%d bytes uncompressed, more than the %d that are allowed", raw, b.maxBlock)
	case onData < headerSize || int64(onData) > headerSize+int64(onDisk):
		return bad("%d bytes of data in %d on disk", onData, onDisk)
	case int64(onData) > int64(b.maxBlock)+int64(b.maxBlock)/4+4096:
		return bad("%d bytes of data, more than %d bytes can be packed into", onData, b.maxBlock)
	case perSum <= 0:
		return bad("%d bytes per checksum", perSum)
	case blk.prev < -1 || blk.prev >= off:
		return bad("previous block at offset %d", blk.prev)
	}
	i := bytes.IndexByte(checksumIDs[:], h[24])
	if i < 0 {
		return bad("unknown checksum type %d", h[24])
	}
	blk.checksum = ChecksumType(i)
	blk.onDisk, blk.uncompressed, blk.bytesPerSum, blk.onData = int(onDisk), int(raw), int(perSum), int(onData)
	sums := (blk.onData + blk.bytesPerSum - 1) / blk.bytesPerSum
	if blk.onData+4*sums != headerSize+blk.onDisk {
		return bad("%d checksums do not fill %d bytes on disk after %d of data", sums, onDisk, onData)
	}
	return nil
}

func kindOf(magic []byte) (blockKind, bool) {
	for k := range blockKinds {
		if string(magic) == blockKinds[k].magic {
			return blockKind(k), true
		}
	}
	return 0, false
}

func verifyChecksums(blk *block, disk []byte) error {
	if blk.checksum == ChecksumNone {
		return nil
	}
	table := crc32.IEEETable
	if blk.checksum == ChecksumCRC32C {
		table = crc32.MakeTable(crc32.Castagnoli)
	}
	sums := disk[blk.onData:]
	for at := 0; at < blk.onData; at += blk.bytesPerSum {
		piece := disk[at:min(at+blk.bytesPerSum, blk.onData)]
		if got, want := crc32.Checksum(piece, table), binary.BigEndian.Uint32(sums); got != want {
			return fmt.Errorf("%w: %s block at offset %d: checksum of the bytes at offset %d is %08x, stored %08x",
				ErrCorrupt, blk.name, blk.offset, blk.offset+int64(at), got, want)
		}
		sums = sums[4:]
	}
	return nil
}
