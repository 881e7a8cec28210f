package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/golang/snappy"

	"bulkload/pkg/setting"
)

// ErrCorrupt is wrapped by errors about a run that does not read back as it was written.
var ErrCorrupt = errors.New("spilled run is damaged")

// cursor iterates over the rows of one region in one sorted source.
type cursor struct {
	sort    uint64 // of the current row
	record  []byte // current row with its header
	shared  []byte // its payload, if that is stored with another row of the arena; otherwise nil
	ended   bool
	arena   *arena // source in memory, with entries
	entries []entry
	fetched int  // number of entries that prefetch has read ahead
	touched byte // keeps the compiler from removing the reads of prefetch
	run     *run // source on disk
	table   *crc32.Table
	region  int
	order   *sorting
	off     int64
	end     int64 // of the section
	feed    Feed  // source in another process
	buffers
	rest []byte // of block
	left int64  // rows not yet read
}

// buffers are the buffers that a cursor reads a run into.
type buffers struct {
	stored []byte
	block  []byte
	before []byte // the previous block, whose last row may still be in use
}

func (c *cursor) key() []byte {
	n := int(binary.LittleEndian.Uint16(c.record[12:]))
	return c.record[recordHeader : recordHeader+n]
}

func (c *cursor) seq() uint64 { return binary.LittleEndian.Uint64(c.record) }

func (c *cursor) payload() []byte {
	if c.shared != nil {
		return c.shared
	}
	n := int(binary.LittleEndian.Uint16(c.record[12:]))
	return c.record[recordHeader+n:]
}

// next moves to the next row and sets c.ended at the end. The previous row
// stays valid until the following call.
func (c *cursor) next() error {
	if c.arena != nil {
		if len(c.entries) == 0 {
			c.ended = true
			return nil
		}
		if c.fetched == 0 {
			c.prefetch()
		}
		c.fetched--
		e := c.entries[0]
		c.entries = c.entries[1:]
		c.sort = e.sort
		c.record, c.shared = c.arena.record(e)
		return nil
	}
	if len(c.rest) == 0 && c.feed != nil {
		if err := c.feedBlock(); err != nil || c.ended {
			return err
		}
	} else if len(c.rest) == 0 {
		if c.off == c.end {
			if c.left != 0 {
				return fmt.Errorf("%w: %s of region %d are missing", ErrCorrupt, setting.Count(c.left, "row"), c.region)
			}
			c.ended = true
			return nil
		}
		if err := c.readBlock(); err != nil {
			return err
		}
	}
	if len(c.rest) < recordHeader {
		return fmt.Errorf("%w: a block ends inside a row's header", ErrCorrupt)
	}
	n := recordHeader + int(binary.LittleEndian.Uint32(c.rest[8:]))
	keyLen := int(binary.LittleEndian.Uint16(c.rest[12:]))
	if n > len(c.rest) || recordHeader+keyLen > n {
		return fmt.Errorf("%w: a row goes past its block", ErrCorrupt)
	}
	c.record, c.rest = c.rest[:n], c.rest[n:]
	c.sort = c.order.value(c.region, c.key())
	c.left--
	return nil
}

const (
	// touchRows is the number of rows that a cursor prefetches into the processor's cache at a time.
	touchRows = 32
	// touchLines is the number of 64-byte cache lines prefetched of each row. Processors prefetch the
	// following lines themselves.
	touchLines = 4
)

// prefetch reads the next rows. They are scattered over memory: read one at a time,
// each would stall the processor, while reads of many rows overlap.
func (c *cursor) prefetch() {
	c.fetched = min(touchRows, len(c.entries))
	for _, e := range c.entries[:c.fetched] {
		c.touched += c.arena.prefetch(e)
	}
}

// readBlock reads and verifies the next block of the section.
func (c *cursor) readBlock() error {
	var h [blockHeader]byte
	if _, err := c.run.f.ReadAt(h[:], c.off); err != nil {
		return c.readError(err)
	}
	stored := int(binary.LittleEndian.Uint32(h[:]))
	raw := int(binary.LittleEndian.Uint32(h[4:]))
	if c.off+blockHeader+int64(stored) > c.end || raw > c.run.maxBlock {
		return fmt.Errorf("%w: block lengths %d and %d at offset %d", ErrCorrupt, stored, raw, c.off)
	}
	c.stored = slices.Grow(c.stored[:0], stored)[:stored]
	if _, err := c.run.f.ReadAt(c.stored, c.off+blockHeader); err != nil {
		return c.readError(err)
	}
	if sum := crc32.Checksum(c.stored, c.table); sum != binary.LittleEndian.Uint32(h[8:]) {
		return fmt.Errorf("%w: checksum of the block at offset %d", ErrCorrupt, c.off)
	}
	c.block, c.before = slices.Grow(c.before[:0], raw)[:raw], c.block
	block, err := snappy.Decode(c.block, c.stored)
	if err != nil || len(block) != raw {
		return fmt.Errorf("%w: block of %s at offset %d does not unpack to %d: %v", ErrCorrupt, setting.Count(stored, "byte"), c.off, raw, err)
	}
	c.rest = block
	c.off += blockHeader + int64(stored)
	return nil
}

func (c *cursor) readError(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ends before offset %d", ErrCorrupt, c.off)
	}
	return fmt.Errorf("read spilled run at offset %d: %w", c.off, err)
}
