package rekey

import (
	"encoding/binary"
	"fmt"

	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
)

// A row travels through the sort as its cells in their order, each
//
//	uvarint number of the family, uvarint length, qualifier,
//	u64 timestamp, big-endian, uvarint length, value, uvarint length, tags
//
// All cells are puts.

// appendCell appends a cell to a packed row.
func appendCell(b []byte, family int, c *hfile.Cell) []byte {
	b = binary.AppendUvarint(b, uint64(family))
	b = binary.AppendUvarint(b, uint64(len(c.Qualifier)))
	b = append(b, c.Qualifier...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Timestamp))
	b = binary.AppendUvarint(b, uint64(len(c.Value)))
	b = append(b, c.Value...)
	b = binary.AppendUvarint(b, uint64(len(c.Tags)))
	return append(b, c.Tags...)
}

// packed walks the cells of a packed row. The slices of a cell lie in it.
type packed struct {
	rest   []byte
	family int
	cell   hfile.Cell // without row and family
	err    error
}

// next moves to the next cell; false at the end and on an error.
func (p *packed) next() bool {
	if p.err != nil || len(p.rest) == 0 {
		return false
	}
	p.family = p.number()
	p.cell.Qualifier = p.bytes(p.number())
	if t := p.bytes(8); p.err == nil {
		p.cell.Timestamp = int64(binary.BigEndian.Uint64(t))
	}
	p.cell.Value = p.bytes(p.number())
	p.cell.Tags = p.bytes(p.number())
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
