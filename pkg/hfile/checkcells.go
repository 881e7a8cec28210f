package hfile

import (
	"bytes"
	"cmp"
	"fmt"
)

// cellProof reads the cells of one data block after another.
type cellProof struct {
	dec     cellDecoder
	stats   fileStats
	last    flat // the last cell of the previous block, in its own memory
	started bool
	maxSeq  int64
}

func (p *cellProof) start(c *checker) {
	p.dec = c.reader.decoder
	p.stats = newFileStats()
}

// dataBlock checks a data block: its place and key in the index, the order of
// its cells, the properties of cells that HBase's readers rely on, and the
// block's own sums.
func (c *checker) dataBlock(blk *block) error {
	p := &c.cells
	d := &p.dec
	place, indexKey, err := c.index.next()
	if err != nil {
		return err
	}
	if place != placeOf(blk) {
		return fmt.Errorf("%w: the index has offset %d, size %d for it, not %d, %d", ErrCorrupt, place.offset, place.size, blk.offset, placeOf(blk).size)
	}
	if err := d.start(blk); err != nil {
		return err
	}
	unencoded := 0
	rows := decbuf{b: d.rowIndex}
	n := 0
	key, rowLen, famLen := p.last.key, p.last.rowLen, p.last.famLen
	for ; ; n++ {
		at := d.d.at
		if n > 0 {
			key, rowLen, famLen = d.cur.key, d.cur.rowLen, d.cur.famLen
		}
		if !d.next() {
			break
		}
		cur := &d.cur
		order, sameRow := -1, false
		if p.started {
			before := flat{key: key, rowLen: rowLen, famLen: famLen}
			if order, sameRow = inOrder(&before, cur); order > 0 {
				return fmt.Errorf("%w: key order broken at entry %d", ErrCorrupt, p.stats.cells)
			}
			if !sameRow && !bytes.Equal(before.family(), cur.family()) {
				return fmt.Errorf("%w: family changes at entry %d", ErrCorrupt, p.stats.cells)
			}
		}
		if n == 0 {
			var left *flat
			if p.started {
				left = &p.last
				if order == 0 {
					return fmt.Errorf("%w: its first cell has the key of the last cell before it", ErrCorrupt)
				}
			}
			if err := proveIndexKey(indexKey, left, cur); err != nil {
				return err
			}
		}
		if err := p.cell(cur); err != nil {
			return fmt.Errorf("entry %d: %w", p.stats.cells, err)
		}
		if d.encoding == EncodingRowIndexV1 && (n == 0 || !sameRow) && rows.i32() != at-rowIndexPrefix {
			return fmt.Errorf("%w: its row index does not hold the row at position %d", ErrCorrupt, at)
		}
		unencoded += c.unencoded(cur)
		if err := c.filters(cur, sameRow, order); err != nil {
			return fmt.Errorf("entry %d: %w", p.stats.cells, err)
		}
		p.stats.add(cur)
		p.started = true
		if order == 0 {
			c.res.DuplicateKeys++
		} else if c.probes > 0 {
			c.sample.offer(cur, c.rnd)
		}
	}
	switch {
	case d.d.err != nil:
		return d.d.err
	case n == 0:
		return fmt.Errorf("%w: it holds no cells", ErrCorrupt)
	case rows.err != nil || rows.rest() > 0:
		return fmt.Errorf("%w: its row index has more or fewer than its rows", ErrCorrupt)
	case d.encoding != EncodingNone && d.encoding != EncodingRowIndexV1 && d.declared != unencoded:
		return fmt.Errorf("%w: it says that its cells take %d bytes unencoded, they take %d", ErrCorrupt, d.declared, unencoded)
	}
	p.last.key = append(p.last.key[:0], key...)
	p.last.rowLen, p.last.famLen = rowLen, famLen
	return nil
}

// inOrder compares two consecutive cells and reports whether they have the same row
// and family.
func inOrder(a, b *flat) (order int, sameRow bool) {
	head := 3 + a.rowLen + a.famLen
	if a.rowLen == b.rowLen && a.famLen == b.famLen && string(a.key[:head]) == string(b.key[:head]) {
		if order := bytes.Compare(a.key[head:len(a.key)-9], b.key[head:len(b.key)-9]); order != 0 {
			return order, true
		}
		if order := cmp.Compare(b.timestamp(), a.timestamp()); order != 0 {
			return order, true
		}
		return cmp.Compare(b.typ(), a.typ()), true
	}
	return compareFlat(a, b), false
}

// cellTypes marks the types that a cell of a file can have.
var cellTypes = [256]bool{Put: true, Delete: true, DeleteFamilyVersion: true, DeleteColumn: true, DeleteFamily: true}

// cell checks the limits that HBase's classes require of a cell.
func (p *cellProof) cell(c *flat) error {
	switch {
	case !cellTypes[c.key[len(c.key)-1]]:
		return fmt.Errorf("%w: a cell of type %d", ErrCorrupt, c.key[len(c.key)-1])
	case c.key[len(c.key)-9] >= 0x80:
		return fmt.Errorf("%w: a timestamp below 0", ErrCorrupt)
	case c.rowLen > MaxRowLen:
		return fmt.Errorf("%w: a row of %d bytes", ErrCorrupt, c.rowLen)
	case c.famLen == 0 || c.famLen > MaxFamilyLen:
		return fmt.Errorf("%w: a family of %d bytes", ErrCorrupt, c.famLen)
	case p.dec.seqID < 0:
		return fmt.Errorf("%w: a sequence id below 0", ErrCorrupt)
	}
	p.maxSeq = max(p.maxSeq, p.dec.seqID)
	if len(c.tags) > 0 {
		return proveTags(c.tags)
	}
	return nil
}

// tagTTL is the type of the time-to-live tag (TagType, 2.6.4). Scans and compactions read eight bytes of a cell's first TTL tag and fail with an exception
// if the tag has another length; they ignore further TTL tags (ScanQueryMatcher.isCellTTLExpired).
const tagTTL = 8

func proveTags(tags []byte) error {
	if len(tags) > MaxTagsLen {
		return fmt.Errorf("%w: tags of %d bytes", ErrCorrupt, len(tags))
	}
	lives := false
	for d := (decbuf{b: tags}); d.rest() > 0; {
		tag := d.bytes(d.u16())
		if d.err != nil {
			return fmt.Errorf("tags: %w", d.err)
		}
		switch {
		case len(tag) == 0:
			return fmt.Errorf("%w: a tag of 0 bytes", ErrCorrupt)
		case tag[0] != tagTTL || lives:
		case len(tag) != 9:
			return fmt.Errorf("%w: a time to live of %d bytes, not 8: HBase's scans and compactions fail at the cell", ErrCorrupt, len(tag)-1)
		default:
			lives = true
		}
	}
	return nil
}

// unencoded returns the number of bytes that a cell adds to its block's
// unencoded size.
func (c *checker) unencoded(f *flat) int {
	n := 8 + len(f.key) + len(f.value)
	if c.cells.dec.tags {
		n += 2 + len(f.tags)
	}
	if c.cells.dec.mvcc {
		n += vlongSize(c.cells.dec.seqID)
	}
	return n
}

// filters adds a cell's keys to the filters.
func (c *checker) filters(cur *flat, sameRow bool, order int) error {
	if t := cur.typ(); t == DeleteFamily || t == DeleteFamilyVersion {
		c.cells.stats.deleteFamily++
		if c.delete != nil {
			if err := c.delete.add(cur.row()); err != nil {
				return err
			}
		}
	}
	b := c.bloom
	if b == nil || sameRow && (b.meta.kind != BloomRowCol || order == 0) {
		return nil
	}
	if err := b.add(b.meta.keyOf(cur.row(), cur.qualifier())); err != nil {
		return err
	}
	b.probeAbsent(cur.row(), cur.qualifier())
	return nil
}
