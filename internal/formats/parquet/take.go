package parquet

import (
	"encoding/binary"
	"errors"

	"bulkload/pkg/source/span"
)

// take writes the spans of the next n rows, which are all in the page, to every cols-th place of dst.
func (c *columnReader) take(p *pageReader, dst []span.Span, cols, n int) error {
	var present []uint32 // nil: all
	count := n
	if c.typ.def > 0 && !c.levels.skipRun(p.region(c.pageRegion()), uint32(c.typ.def), n) {
		present = p.levels[:n]
		if !c.levels.read(p.region(c.pageRegion()), present) {
			return errLevels
		}
		var err error
		if count, err = presence(present, c.typ.def); err != nil {
			return err
		}
	}
	c.left -= n
	return c.takePresent(p, dst, cols, present, count, n)
}

var errLevels = errors.New("its levels are damaged")

// presence replaces definition levels by 1 for a value and 0 for a missing one, and counts the values.
func presence(levels []uint32, def int) (count int, err error) {
	if def > 1 {
		for i, v := range levels {
			if v > uint32(def) {
				return 0, errLevels
			}
			levels[i] = 0
			if v == uint32(def) {
				levels[i] = 1
			}
		}
	}
	for _, v := range levels {
		count += int(v)
	}
	return count, nil
}

// takeEntries reads the next entries of a leaf of a nested column, with their levels.
func (c *columnReader) takeEntries(p *pageReader, repeats, defs []uint32, dst []span.Span) error {
	data := p.region(c.pageRegion())
	if !c.repeats.read(data, repeats) || !c.levels.read(data, defs) {
		return errLevels
	}
	for _, v := range repeats {
		if v > uint32(c.typ.rep) {
			return errLevels
		}
	}
	var present []uint32
	count := len(dst)
	if c.typ.def > 0 {
		present = p.levels[:len(dst)]
		copy(present, defs)
		var err error
		if count, err = presence(present, c.typ.def); err != nil {
			return err
		}
	}
	c.left -= len(dst)
	return c.takePresent(p, dst, 1, present, count, len(dst))
}

// takePresent writes the spans of n values, count of them present, to every cols-th place of dst.
func (c *columnReader) takePresent(p *pageReader, dst []span.Span, cols int, present []uint32, count, n int) error {
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
func (c *columnReader) takeIndexed(p *pageReader, dst []span.Span, cols int, present []uint32, count int) error {
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
		s := span.Null()
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

// takeText takes text of any length. It is takeValues without the special cases, for the form that most columns have.
func (c *columnReader) takeText(p *pageReader, dst []span.Span, cols int, present []uint32, n int) error {
	region := p.arena.regions[c.pageRegion()]
	data := p.arena.buf[region.off : region.off+c.max]
	next, base := c.next, region.off
	at := 0
	for i := range n {
		s := span.Null()
		if present == nil || present[i] != 0 {
			if next+4 > len(data) {
				return errShortPage
			}
			size := int(binary.LittleEndian.Uint32(data[next:]))
			next += 4
			if size > len(data)-next {
				return errShortPage
			}
			s = span.Span{Off: uint32(base + next), Len: uint32(size)}
			next += size
		}
		dst[at] = s
		at += cols
	}
	c.next = next
	return nil
}

// takeValues converts values to text, which it appends after the regions, or takes text of a fixed length.
func (c *columnReader) takeValues(p *pageReader, dst []span.Span, cols int, present []uint32, n int) error {
	region := p.arena.regions[c.pageRegion()]
	data := p.arena.buf[region.off : region.off+c.max] // stays valid when the arena grows
	at := 0
	for i := range n {
		s := span.Null()
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
				s = span.Span{Off: uint32(region.off + c.next), Len: uint32(size)}
			} else {
				start := len(p.arena.buf)
				p.arena.buf = c.typ.append(p.arena.buf, data[c.next:c.next+size])
				s = span.Span{Off: uint32(start), Len: uint32(len(p.arena.buf) - start)}
			}
			c.next += size
		}
		dst[at] = s
		at += cols
	}
	if len(p.arena.buf) > maxArena {
		return errArena
	}
	return c.typ.fault
}
