package chunk

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/golang/snappy"
)

// openChunk returns the rows of one chunk; it is an [extsort.Feed].
type openChunk struct {
	at       string // its name in messages
	arrivals *arrivals
	run      *runState
	value    []byte
	rest     []byte // of its blocks
	head     header
	rows     uint32 // returned so far
	raw      uint64
	seq      uint64 // of the previous row
	last     []byte // key of the last row that was unpacked
	limit    []byte // first key of the run's next chunk, before which this one must end; nil: that chunk has not arrived
	unique   bool   // each key occurs once
}

// Next implements [extsort.Feed].
func (c *openChunk) Next(dst []byte) ([]byte, error) {
	if len(c.rest) == 0 {
		return nil, c.end()
	}
	if len(c.rest) < blockHeader {
		return nil, damaged("%s ends within a block's lengths", c.at)
	}
	stored, raw := uint64(binary.LittleEndian.Uint32(c.rest)), uint64(binary.LittleEndian.Uint32(c.rest[4:]))
	if stored > uint64(len(c.rest)-blockHeader) {
		return nil, damaged("%s: a block of %d bytes, where %d are left", c.at, stored, len(c.rest)-blockHeader)
	}
	block := c.rest[blockHeader : blockHeader+stored]
	n, err := snappy.DecodedLen(block)
	if err != nil || uint64(n) != raw || raw > maxRatio*stored || raw == 0 {
		return nil, damaged("%s: a block of %d bytes does not unpack to %d", c.at, stored, raw)
	}
	dst, err = snappy.Decode(slices.Grow(dst[:0], n)[:n], block)
	if err != nil {
		return nil, damaged("%s: a block of %d bytes does not unpack to %d: %v", c.at, stored, raw, err)
	}
	c.rest = c.rest[blockHeader+stored:]
	c.raw += raw
	return dst, c.check(dst)
}

// check checks that the rows of a block are complete, in order and in the region.
func (c *openChunk) check(block []byte) error {
	last := c.last // after the first row, a part of the block
	counts := &c.run.counts
	for at := 0; at < len(block); c.rows++ {
		b := block[at:]
		if len(b) < rowHeader {
			return damaged("%s: a block ends within the header of row %d", c.at, c.rows)
		}
		n, k := uint64(binary.LittleEndian.Uint32(b[8:])), uint64(binary.LittleEndian.Uint16(b[12:]))
		if k > n || n > uint64(len(b)-rowHeader) || k == 0 {
			return damaged("%s: row %d has %d bytes with a key of %d, where %d are left of its block", c.at, c.rows, n, k, len(b)-rowHeader)
		}
		row := b[:rowHeader+n]
		key, seq := rowKey(row), binary.LittleEndian.Uint64(row)
		if c.rows > 0 {
			if order := bytes.Compare(last, key); order > 0 || order == 0 && (c.unique || seq <= c.seq) {
				return damaged("%s: row %d is not after the one before", c.at, c.rows)
			}
		}
		last, c.seq = key, seq
		counts.Rows++
		counts.Bytes += int64(len(row))
		sum := xxhash.Sum64(row[rowHeader-2:])
		counts.Sum += sum
		c.arrivals.total.Sum += sum
		at += len(row)
	}
	// Keys are ascending, and the first one was compared: only the last can be outside of the region.
	if o := c.arrivals.options.Bounds; !o.has(last) {
		return damaged("%s: a key of %d bytes is outside of the region, which ends before %s", c.at, len(last), keyText(o.End))
	}
	c.last = append(c.last[:0], last...)
	if c.limit != nil && bytes.Compare(last, c.limit) >= 0 {
		return damaged("%s: its rows reach into the next chunk of the run", c.at)
	}
	return nil
}

// endsBefore records the first key of the run's next chunk, and reports whether the rows unpacked so far are before it.
func (c *openChunk) endsBefore(first []byte) bool {
	c.limit = append(c.limit[:0], first...)
	return bytes.Compare(c.last, first) < 0
}

// end checks the chunk's contents against its header, and releases its buffer.
func (c *openChunk) end() error {
	if c.rows != c.head.rows || c.raw != uint64(c.head.raw) {
		return damaged("%s has %d rows of %d bytes, its header says %d of %d", c.at, c.rows, c.raw, c.head.rows, c.head.raw)
	}
	if c.value != nil {
		t, r := &c.arrivals.total, c.arrivals.reader
		t.Chunks++
		t.Rows += int64(c.rows)
		t.Bytes += int64(c.raw)
		r.spare, c.value = append(r.spare, c.value), nil
	}
	return io.EOF
}
