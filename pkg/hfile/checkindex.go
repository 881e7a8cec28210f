package hfile

import (
	"bytes"
	"fmt"
)

// indexProof walks the data index once, from left to right, with one block of
// each level in memory, and returns the entry of each data block in turn.
type indexProof struct {
	reader *Reader
	blocks *blockReader
	rootAt int          // next entry of the root
	levels []indexLevel // below the root; the last holds the leaves
	data   int64        // data blocks so far
	mid    int64        // number of the data block that the mid-key metadata names, -1 until its leaf is read
}

// indexLevel is the open block of a level.
type indexLevel struct {
	place   placed
	payload []byte
	n, next int   // number of entries, and the next one
	from    int64 // offset of the level's first block, -1 before it is read
	end     int64 // offset after the open block
	passed  bool  // whether the walk has passed the open leaf
}

func (x *indexProof) start(r *Reader, blocks *blockReader) {
	*x = indexProof{reader: r, blocks: blocks, mid: -1, levels: make([]indexLevel, r.trailer.levels-1)}
	for i := range x.levels {
		x.levels[i].from = -1
	}
}

// next returns the index entry of the next data block. The key is valid until the
// next call.
func (x *indexProof) next() (placed, []byte, error) {
	p, key, ok, err := x.entry(len(x.levels))
	if err == nil && !ok {
		err = fmt.Errorf("%w: the index has no entry for it", ErrCorrupt)
	}
	x.data++
	return p, key, err
}

// entry returns the next entry of a level, where level 0 is the root. It returns
// false at the level's end.
func (x *indexProof) entry(level int) (placed, []byte, bool, error) {
	if level == 0 {
		i := x.rootAt
		if i == x.reader.root.len() {
			return placed{}, nil, false, nil
		}
		x.rootAt++
		return x.reader.root.places[i], x.reader.root.key(i), true, nil
	}
	l := &x.levels[level-1]
	if l.next == l.n {
		p, key, ok, err := x.entry(level - 1)
		if err != nil || !ok {
			return placed{}, nil, ok, err
		}
		if err := x.open(level, p, key); err != nil {
			return placed{}, nil, false, fmt.Errorf("index block at offset %d: %w", p.offset, err)
		}
	}
	p, key := nonRootEntry(l.payload, l.n, l.next)
	l.next++
	return p, key, true, nil
}

// open reads the block at p, whose entry in the level above has the given key:
// the key of the block's first entry.
func (x *indexProof) open(level int, p placed, key []byte) error {
	l := &x.levels[level-1]
	leaf := level == len(x.levels)
	if leaf && l.n > 0 && !l.passed {
		return fmt.Errorf("%w: the leaf before it, at offset %d, is not after its data blocks", ErrCorrupt, l.place.offset)
	}
	blk, err := x.blocks.read(p.offset)
	if err != nil {
		return err
	}
	want := kindIntermediateIndex
	if leaf {
		want = kindLeafIndex
	}
	if blk.kind != want || placeOf(blk) != p {
		return fmt.Errorf("%w: a %s block of %d bytes where a %s block of %d should be", ErrCorrupt, blk.name, placeOf(blk).size, blockKinds[want].name, p.size)
	}
	if l.from < 0 {
		l.from = p.offset
	} else if !leaf && p.offset != l.end {
		return fmt.Errorf("%w: the block before it in its level ends at %d", ErrCorrupt, l.end)
	}
	l.place, l.end, l.passed, l.next = p, blk.end(), false, 0
	l.payload = append(l.payload[:0], blk.payload...)
	if l.n, err = countNonRoot(l.payload); err != nil {
		return err
	}
	if _, first := nonRootEntry(l.payload, l.n, 0); !bytes.Equal(first, key) {
		return fmt.Errorf("%w: its first key is not the one that the level above has for it", ErrCorrupt)
	}
	if leaf && len(x.reader.midKey) == 16 {
		d := decbuf{b: x.reader.midKey}
		if at, size, entry := d.i64(), d.i32(), d.i32(); at == p.offset && int32(size) == p.size && entry >= 0 && entry < l.n {
			x.mid = x.data + int64(entry)
		}
	}
	return nil
}

// passLeaf checks a leaf that the walk meets: it must be the open leaf, and all of
// its data blocks must have been read.
func (x *indexProof) passLeaf(blk *block) error {
	if len(x.levels) == 0 {
		return fmt.Errorf("%w: an index of one level has no leaves", ErrCorrupt)
	}
	l := &x.levels[len(x.levels)-1]
	if l.n == 0 || l.next != l.n || l.passed || l.place != placeOf(blk) {
		return fmt.Errorf("%w: it is not the leaf of the data blocks before it", ErrCorrupt)
	}
	l.passed = true
	return nil
}

// finish checks that no entry is left, that the levels follow one another
// between the inline blocks and the root, and the mid key.
func (x *indexProof) finish(inlineEnd, root int64) error {
	if _, _, ok, err := x.entry(len(x.levels)); err != nil {
		return err
	} else if ok {
		return fmt.Errorf("%w: the index has entries for more than the %d data blocks", ErrCorrupt, x.data)
	}
	if len(x.levels) == 0 {
		if len(x.reader.midKey) > 0 {
			return fmt.Errorf("%w: %d bytes after the root index of an index of one level", ErrCorrupt, len(x.reader.midKey))
		}
		return nil
	}
	for i := range x.levels {
		l := &x.levels[i]
		switch {
		case l.n == 0:
			return fmt.Errorf("%w: an index of %d levels without data blocks", ErrCorrupt, len(x.levels)+1)
		case i == len(x.levels)-1:
			if !l.passed {
				return fmt.Errorf("%w: the last leaf, at offset %d, is not after its data blocks", ErrCorrupt, l.place.offset)
			}
			continue
		}
		from := inlineEnd
		if i+1 < len(x.levels)-1 {
			from = x.levels[i+1].end
		}
		if l.from != from {
			return fmt.Errorf("%w: level %d of the index begins at offset %d, not at %d", ErrCorrupt, i+2, l.from, from)
		}
	}
	if len(x.levels) > 1 && x.levels[0].end != root {
		return fmt.Errorf("%w: level 2 of the index ends at offset %d, not at the root index", ErrCorrupt, x.levels[0].end)
	}
	if len(x.reader.midKey) != 16 || x.mid != (x.data-1)/2 {
		return fmt.Errorf("%w: the mid-key metadata of the root index does not name the data block in the middle", ErrCorrupt)
	}
	return nil
}

// proveIndexKey compares the index key of a data block with the last cell
// before the block and the block's first cell. Every key greater than the
// former and not greater than the latter leads every seek to the right block.
// HBase writes the cell's own key or a synthetic one
// (HFileWriterImpl.getMidpoint, 2.6.4).
func proveIndexKey(key []byte, left, first *flat) error {
	if bytes.Equal(key, first.key) {
		return nil
	}
	k, err := parseKey(key)
	switch {
	case err != nil:
		return fmt.Errorf("%w: its index key: %w", ErrCorrupt, err)
	case left == nil:
		return fmt.Errorf("%w: its index key is not that of the file's first cell", ErrCorrupt)
	case k.typ() != typeMaximum || k.timestamp() != LatestTimestamp:
		return fmt.Errorf("%w: its index key is neither that of its first cell nor a synthetic one", ErrCorrupt)
	case k.famLen == 0 && len(k.qualifier()) > 0 || k.famLen > 0 && !(bytes.Equal(k.family(), first.family()) && bytes.Equal(k.row(), first.row())):
		return fmt.Errorf("%w: its index key has another row or family than its first cell", ErrCorrupt)
	case compareFlat(left, &k) >= 0:
		return fmt.Errorf("%w: its index key does not come after the last cell before the block", ErrCorrupt)
	case compareFlat(&k, first) > 0:
		return fmt.Errorf("%w: its index key comes after its first cell", ErrCorrupt)
	}
	return nil
}
