package source

import (
	"encoding/binary"
	"errors"
	"math"
)

// take writes the spans of the next n rows, which are all in the page, to every cols-th place of dst.
func (c *columnReader) take(p *parquetReader, dst []Span, cols, n int) error {
	var present []uint32 // nil: all
	count := n
	if c.typ.optional && !c.levels.skipRun(p.region(c.pageRegion()), 1, n) {
		present = p.levels[:n]
		if !c.levels.read(p.region(c.pageRegion()), present) {
			return errors.New("its levels are damaged")
		}
		count = 0
		for _, v := range present {
			count += int(v)
		}
	}
	c.left -= n
	switch {
	case c.indexed:
		return c.takeIndexed(p, dst, cols, present, count)
	case c.typ.kind == kindText && c.typ.width == 0:
		return c.takeText(p, dst, cols, present, n)
	default:
		return c.takeValues(p, dst, cols, present, n)
	}
}

// takeIndexed takes entries of the dictionary; count of the rows have one.
func (c *columnReader) takeIndexed(p *parquetReader, dst []Span, cols int, present []uint32, count int) error {
	index := p.index[:count]
	if !c.index.read(p.region(c.pageRegion()), index) {
		return errors.New("its indexes are damaged")
	}
	base := uint32(p.arena.regions[c.dictRegion()].off)
	at := 0
	if present == nil {
		for _, i := range index {
			if uint(i) >= uint(len(c.dict)) {
				return errNoEntry
			}
			s := c.dict[i]
			s.Off += base
			dst[at] = s
			at += cols
		}
		return nil
	}
	next := 0
	for _, v := range present {
		var s Span
		if v != 0 {
			i := index[next]
			next++
			if uint(i) >= uint(len(c.dict)) {
				return errNoEntry
			}
			s = c.dict[i]
			s.Off += base
		}
		dst[at] = s
		at += cols
	}
	return nil
}

var errNoEntry = errors.New("an index is not in the dictionary")

// takeText takes text of any length, which is the form of most columns: takeValues without its cases.
func (c *columnReader) takeText(p *parquetReader, dst []Span, cols int, present []uint32, n int) error {
	region := p.arena.regions[c.pageRegion()]
	data := p.arena.buf[region.off : region.off+c.max]
	next, base := c.next, region.off
	at := 0
	for i := range n {
		var s Span
		if present == nil || present[i] != 0 {
			if next+4 > len(data) {
				return errShortPage
			}
			size := int(binary.LittleEndian.Uint32(data[next:]))
			next += 4
			if size > len(data)-next {
				return errShortPage
			}
			s = Span{Off: uint32(base + next), Len: uint32(size)}
			next += size
		}
		dst[at] = s
		at += cols
	}
	c.next = next
	return nil
}

// takeValues makes text of values that are none, behind the regions, or takes text of a fixed length.
func (c *columnReader) takeValues(p *parquetReader, dst []Span, cols int, present []uint32, n int) error {
	region := p.arena.regions[c.pageRegion()]
	data := p.arena.buf[region.off : region.off+c.max] // stays valid when the arena grows
	at := 0
	for i := range n {
		var s Span
		if present == nil || present[i] != 0 {
			size := c.typ.width
			if size == 0 {
				if len(data)-c.next < 4 {
					return errShortPage
				}
				size = int(binary.LittleEndian.Uint32(data[c.next:]))
				c.next += 4
			}
			if size > len(data)-c.next {
				return errShortPage
			}
			if c.typ.kind == kindText {
				s = Span{Off: uint32(region.off + c.next), Len: uint32(size)}
			} else {
				start := len(p.arena.buf)
				p.arena.buf = c.typ.append(p.arena.buf, data[c.next:c.next+size])
				s = Span{Off: uint32(start), Len: uint32(len(p.arena.buf) - start)}
			}
			c.next += size
		}
		dst[at] = s
		at += cols
	}
	if len(p.arena.buf) > math.MaxUint32 {
		return errArena
	}
	return nil
}
