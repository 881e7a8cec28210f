package avro

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// DefaultBlock is the default of [NewBlocks], 64 MiB. Writers make blocks of some 16 KB to 1 MB.
const DefaultBlock = 64 << 20

// Block is an unpacked block. Its records are in the caller's buffer, from At to End.
type Block struct {
	// Offset is the file offset of the block, where its count of records begins.
	Offset int64
	// Size is the block's size in the file, with the sync marker after it.
	Size int64
	// Records is the number of records, and Next the number that [Plan.Record] has taken.
	Records, Next int64
	// At is the offset of the next record in the buffer, and End the offset after the last one.
	At, End int
}

// Blocks reads the blocks of a split, and may then read another split. It must be used by one goroutine at a time. Between calls it keeps the memory
// of a packed block and of its codec.
type Blocks struct {
	limit  int64
	header *Header
	win    window
	unpack unpacker
	to     int64
	from   int64
	marker int64 // offset of the marker before the next block, -1 if it has not been found yet
	err    error // of the last call
}

// NewBlocks returns a reader of blocks that have at most limit bytes each, packed and unpacked; it uses at most twice as much memory. A limit of 0
// means [DefaultBlock]; the largest limit is 1 GiB.
func NewBlocks(limit int64) *Blocks {
	if limit <= 0 {
		limit = DefaultBlock
	}
	return &Blocks{limit: min(limit, 1<<30), err: errors.New("no split is open")}
}

// Open starts the split [from, to) of a file. As in Hadoop, a split owns the blocks whose preceding marker begins in it. So each block is read once,
// however splits divide a file. The marker before the first block is the last 16 bytes of the header.
//
// If a split begins inside a block, the first marker found counts as the end of that block. If it is part of the data instead, which is unlikely since
// markers are random, the split ends with an error.
func (b *Blocks) Open(h *Header, r io.ReaderAt, from, to int64) {
	b.header, b.from, b.to, b.err = h, from, min(to, h.Size), nil
	b.win.reset(r, h.Size)
	b.marker = -1
	if first := h.Data - syncSize; from <= first {
		b.marker = first
	}
}

// Next reads the next block and appends its unpacked data to buf, which must stay below 4 GiB; grown is the extended buffer. It skips blocks without
// records. At the end of the split err is io.EOF; other errors are an [Error], a [SizeError] or a read error of the file, and are final.
func (b *Blocks) Next(buf []byte) (grown []byte, block Block, err error) {
	for b.err == nil {
		var more bool
		if buf, block, more, b.err = b.next(buf); more && b.err == nil {
			return buf, block, nil
		}
	}
	return buf, Block{}, b.err
}

// next reads a block. It sets more if the block has records.
func (b *Blocks) next(buf []byte) (grown []byte, block Block, more bool, err error) {
	if b.marker < 0 {
		if err := b.findMarker(); err != nil {
			return buf, block, false, err
		}
	}
	off := b.marker + syncSize
	if b.marker >= b.to || off == b.header.Size {
		return buf, block, false, io.EOF
	}
	fault := func(reason string, err error) error { return &Error{Offset: off, Reason: reason, Err: err} }
	head, err := b.win.upTo(off, 20)
	if err != nil {
		return buf, block, false, err
	}
	c := cursor{buf: head, end: len(head)}
	count, ok := c.long()
	if !ok {
		return buf, block, false, fault(c.reason, nil)
	}
	packed, ok := c.long()
	room := b.header.Size - off - int64(c.at) - syncSize
	switch {
	case !ok:
		return buf, block, false, fault(c.reason, nil)
	case count < 0:
		return buf, block, false, fault("the count of records is negative", nil)
	case packed < 0:
		return buf, block, false, fault("the length is negative", nil)
	case packed > room:
		return buf, block, false, fault(fmt.Sprintf("the block ends %d bytes after the file does: the file is cut off or damaged", packed-room), nil)
	case packed > b.limit:
		return buf, block, false, &SizeError{What: "packed block", Offset: off, Need: packed, Limit: b.limit}
	}
	data, err := b.win.at(off+int64(c.at), int(packed)+syncSize)
	if err != nil {
		return buf, block, false, err
	}
	if !bytes.Equal(data[packed:], b.header.Sync[:]) {
		return buf, block, false, fault("no sync marker follows the block: the file is damaged", nil)
	}
	b.marker = off + int64(c.at) + packed
	if count == 0 && packed == 0 {
		return buf, block, false, nil
	}
	start := len(buf)
	buf, need, err := b.unpack.unpack(b.header.Codec, buf, data[:packed], min(b.limit, max(math.MaxUint32-1-int64(start), 0)))
	switch {
	case err == errTooLarge:
		return buf, block, false, &SizeError{What: "unpacked block", Offset: off, Need: need, AtLeast: need == b.limit+1, Limit: b.limit}
	case err != nil:
		return buf, block, false, fault(b.header.Codec, err)
	}
	if size := int64(len(buf) - start); count > b.mostRecords(size) || count == 0 && size > 0 {
		return buf[:start], block, false, fault(fmt.Sprintf("the block of %d bytes cannot hold the number of records that it declares, %d", size, count), nil)
	}
	return buf, Block{Offset: off, Size: b.marker + syncSize - off, Records: count, At: start, End: len(buf)}, count > 0, nil
}

// mostRecords returns the largest number of records that size bytes can hold; 16 Mi for records that take no bytes.
func (b *Blocks) mostRecords(size int64) int64 {
	if b.header.root.empty {
		return 1 << 24
	}
	return size / b.header.root.min
}

// findMarker finds the first marker that begins in the split.
func (b *Blocks) findMarker() error {
	last := min(b.to, b.header.Size-syncSize+1) // no marker of the split begins here or later
	for off := b.from; off < last; {
		n := min(last-off+syncSize-1, chunk)
		data, err := b.win.at(off, int(n))
		if err != nil {
			return err
		}
		if i := bytes.Index(data, b.header.Sync[:]); i >= 0 {
			b.marker = off + int64(i)
			return nil
		}
		off += n - syncSize + 1
	}
	return io.EOF
}
