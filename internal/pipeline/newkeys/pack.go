package newkeys

import (
	"encoding/binary"
	"fmt"

	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
)

// In the sort, a row is represented by its cells in order, each as
//
//	uvarint number of the column × 4, + 2 for the timestamp of the cell before, + 1 for tags,
//	without a number: uvarint family, uvarint length, qualifier,
//	without the cell before's: u64 timestamp, big-endian,
//	uvarint length, value,
//	with tags: uvarint length, tags
//
// All cells are puts.

const (
	packedTags    = 1 << 0
	packedTime    = 1 << 1 // the timestamp is that of the previous cell
	packedColumns = 2      // bits before the number
)

// packer packs the cells of one row after the other. It belongs to one goroutine.
type packer struct {
	cells []byte // of the row
	names columnGuess
	time  int64
}

func (p *packer) begin() {
	p.cells = p.cells[:0]
	p.names.begin()
}

// add appends the row's next cell.
func (p *packer) add(family int, c *hfile.Cell) {
	number := p.names.number(family, c.Qualifier)
	head := uint64(number) << packedColumns
	if len(p.cells) > 0 && c.Timestamp == p.time {
		head |= packedTime
	}
	if len(c.Tags) > 0 {
		head |= packedTags
	}
	b := binary.AppendUvarint(p.cells, head)
	if number == 0 {
		b = binary.AppendUvarint(b, uint64(family))
		b = binary.AppendUvarint(b, uint64(len(c.Qualifier)))
		b = append(b, c.Qualifier...)
	}
	if head&packedTime == 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(c.Timestamp))
		p.time = c.Timestamp
	}
	b = binary.AppendUvarint(b, uint64(len(c.Value)))
	b = append(b, c.Value...)
	if head&packedTags != 0 {
		b = binary.AppendUvarint(b, uint64(len(c.Tags)))
		b = append(b, c.Tags...)
	}
	p.cells = b
}

// packed iterates over the cells of a packed row. The slices of a cell are
// parts of the row, or of the names of columns.
type packed struct {
	rest   []byte
	names  []column // by number − 1
	family int
	cell   hfile.Cell // without row and family
	err    error
}

// next moves to the next cell. It returns false at the end and on an error.
func (p *packed) next() bool {
	if p.err != nil || len(p.rest) == 0 {
		return false
	}
	head := p.number()
	switch number := head >> packedColumns; {
	case number > len(p.names):
		p.damaged()
	case number > 0:
		p.family, p.cell.Qualifier = p.names[number-1].family, p.names[number-1].qualifier
	default:
		p.family = p.number()
		p.cell.Qualifier = p.bytes(p.number())
	}
	if head&packedTime == 0 {
		if t := p.bytes(8); p.err == nil {
			p.cell.Timestamp = int64(binary.BigEndian.Uint64(t))
		}
	}
	p.cell.Value = p.bytes(p.number())
	p.cell.Tags = nil
	if head&packedTags != 0 {
		p.cell.Tags = p.bytes(p.number())
	}
	p.cell.Type = hfile.Put
	return p.err == nil
}

func (p *packed) number() int {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 || v > 1<<31-1 {
		return p.damaged()
	}
	p.rest = p.rest[n:]
	return int(v)
}

func (p *packed) bytes(n int) []byte {
	if p.err != nil || n > len(p.rest) {
		p.damaged()
		return nil
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b
}

func (p *packed) damaged() int {
	if p.err == nil {
		p.err = fmt.Errorf("%w: a row's cells are cut off", extsort.ErrCorrupt)
	}
	p.rest = nil
	return 0
}
