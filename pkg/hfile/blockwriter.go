package hfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
)

// headerSize is the size of a block header with checksum fields (minor version 1 and later).
const headerSize = 33

// blockKind identifies a block's magic and the chain of its previous-offset.
type blockKind uint8

const (
	kindData blockKind = iota
	kindEncodedData
	kindLeafIndex
	kindIntermediateIndex
	kindRootIndex
	kindBloomChunk
	kindFileInfo
	kindBloomMeta
	kindDeleteBloomMeta
	kindMeta
	kindCount
)

// blockKinds holds the magic and name of each kind, as HBase's BlockType does. Data and encoded data share one chain.
var blockKinds = [kindCount]struct {
	magic string
	name  string
	chain blockKind
}{
	kindData:              {"DATABLK*", "DATA", kindData},
	kindEncodedData:       {"DATABLKE", "ENCODED_DATA", kindData},
	kindLeafIndex:         {"IDXLEAF2", "LEAF_INDEX", kindLeafIndex},
	kindIntermediateIndex: {"IDXINTE2", "INTERMEDIATE_INDEX", kindIntermediateIndex},
	kindRootIndex:         {"IDXROOT2", "ROOT_INDEX", kindRootIndex},
	kindBloomChunk:        {"BLMFBLK2", "BLOOM_CHUNK", kindBloomChunk},
	kindFileInfo:          {"FILEINF2", "FILE_INFO", kindFileInfo},
	kindBloomMeta:         {"BLMFMET2", "GENERAL_BLOOM_META", kindBloomMeta},
	kindDeleteBloomMeta:   {"DFBLMET2", "DELETE_FAMILY_BLOOM_META", kindDeleteBloomMeta},
	kindMeta:              {"METABLKc", "META", kindMeta},
}

// placed is the offset of a block and its size on disk, including header and checksums.
type placed struct {
	offset int64
	size   int32
}

// flushSize is the number of buffered bytes that triggers a write to the output.
const flushSize = 1 << 20

// firstBuffer is the initial size of the buffer, which grows with the file: a table with many regions has many small files.
const firstBuffer = 64 << 10

// blockWriter turns payloads into consecutive blocks and writes them to out in
// pieces of about a megabyte. Errors are sticky.
type blockWriter struct {
	out         io.Writer
	buf         []byte // not yet written
	base        int64  // file offset of buf[0]
	err         error
	comp        compressor
	sum         ChecksumType
	bytesPerSum int
	table       *crc32.Table
	prev        [kindCount]int64 // offset of the last block of each chain, -1 before the first
}

func newBlockWriter(out io.Writer, o *Options) *blockWriter {
	b := &blockWriter{comp: compressor{codec: o.Compression, level: o.Level, framing: o.Zstd}, sum: o.Checksum, bytesPerSum: o.BytesPerChecksum}
	b.buf = make([]byte, 0, firstBuffer)
	b.table = crc32.MakeTable(crc32.Castagnoli)
	if o.Checksum == ChecksumCRC32 {
		b.table = crc32.IEEETable
	}
	b.reset(out)
	return b
}

// write compresses the payload, adds header and checksums, and returns the
// block's place. The payload may be reused afterwards.
func (b *blockWriter) write(kind blockKind, payload []byte) placed {
	at := len(b.buf)
	if b.err == nil {
		b.buf, b.err = b.comp.block(b.buf, payload)
	}
	return b.seal(kind, at, len(payload))
}

// writePacked is like write for a payload of size bytes that [compressor.block] has already compressed.
func (b *blockWriter) writePacked(kind blockKind, packed []byte, size int) placed {
	at := len(b.buf)
	if b.err == nil {
		b.buf = append(b.buf, packed...)
	}
	return b.seal(kind, at, size)
}

// block appends room for a header and the compressed form of a payload to dst.
func (c *compressor) block(dst, payload []byte) ([]byte, error) {
	at := len(dst)
	return c.append(slices.Grow(dst, headerSize)[:at+headerSize], payload)
}

// seal completes the block at position at, whose payload has size bytes.
func (b *blockWriter) seal(kind blockKind, at, size int) placed {
	place := placed{offset: b.base + int64(at)}
	if b.err != nil {
		return place
	}
	onDisk := len(b.buf) - at // header and data
	sums := (onDisk + b.bytesPerSum - 1) / b.bytesPerSum
	if !b.fits(place.offset, max(int64(onDisk)+4*int64(sums), int64(size))) {
		return place
	}
	chain := blockKinds[kind].chain
	h := b.buf[at : at+headerSize]
	copy(h, blockKinds[kind].magic)
	binary.BigEndian.PutUint32(h[8:], uint32(onDisk-headerSize+4*sums))
	binary.BigEndian.PutUint32(h[12:], uint32(size))
	binary.BigEndian.PutUint64(h[16:], uint64(b.prev[chain]))
	h[24] = checksumIDs[b.sum]
	binary.BigEndian.PutUint32(h[25:], uint32(b.bytesPerSum))
	binary.BigEndian.PutUint32(h[29:], uint32(onDisk))
	b.prev[chain] = place.offset
	b.appendChecksums(at, sums)
	place.size = int32(len(b.buf) - at)
	if len(b.buf) >= flushSize {
		b.flush()
	}
	return place
}

// fits reports whether a block's size fits in its fields of 31 bits. If not, it is an error of the file.
func (b *blockWriter) fits(offset, size int64) bool {
	if b.err == nil && size > math.MaxInt32 {
		b.err = fmt.Errorf("block at offset %d has %d bytes, more than a block can have", offset, size)
	}
	return b.err == nil
}

// appendChecksums appends a checksum of each piece of header and data from position
// at on. HBase writes zeros instead when there is no checksum type.
func (b *blockWriter) appendChecksums(at, sums int) {
	end := len(b.buf)
	for i := range sums {
		var crc uint32
		if b.sum != ChecksumNone {
			from := at + i*b.bytesPerSum
			crc = crc32.Checksum(b.buf[from:min(from+b.bytesPerSum, end)], b.table)
		}
		b.buf = binary.BigEndian.AppendUint32(b.buf, crc)
	}
}

func (b *blockWriter) flush() {
	if b.err != nil || len(b.buf) == 0 {
		return
	}
	n, err := b.out.Write(b.buf)
	if n < len(b.buf) && err == nil {
		err = io.ErrShortWrite
	}
	if err != nil {
		b.err = fmt.Errorf("write at offset %d: %w", b.base, err)
		return
	}
	b.base += int64(len(b.buf))
	b.buf = b.buf[:0]
}
