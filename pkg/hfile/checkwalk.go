package hfile

import "fmt"

// layout collects the properties of a file's blocks during the walk.
type layout struct {
	counts    [kindCount]int
	prev      [kindCount]int64 // offset of the last block of each chain
	rank      int              // of the last block
	checksum  ChecksumType
	perSum    int
	total     int64 // trailer's total_uncompressed_bytes
	index     int64 // trailer's uncompressed data index size
	firstData int64
	lastData  int64
	inlineEnd int64 // offset after the last inline block
	metas     int   // meta blocks
}

func (l *layout) start() {
	for i := range l.prev {
		l.prev[i] = -1
	}
	l.total, l.firstData, l.lastData = trailerSize, -1, -1
}

// The order of a file's parts. From rankRoot on, each rank has at most one block.
const (
	rankInline = iota // data, index leaves, filter chunks
	rankMeta
	rankIntermediate
	rankRoot
	rankMetaIndex
	rankFileInfo
	rankBloom
	rankDeleteBloom
)

func (c *checker) rank(blk *block) int {
	switch blk.kind {
	case kindMeta:
		return rankMeta
	case kindIntermediateIndex:
		return rankIntermediate
	case kindRootIndex:
		if blk.offset == c.reader.trailer.loadOnOpen {
			return rankRoot
		}
		return rankMetaIndex
	case kindFileInfo:
		return rankFileInfo
	case kindBloomMeta:
		return rankBloom
	case kindDeleteBloomMeta:
		return rankDeleteBloom
	}
	return rankInline
}

// walkBlocks reads every block from the file's start to its trailer.
func (c *checker) walkBlocks() error {
	defer c.describeLayout()
	for off := int64(0); off < c.walk.limit; {
		blk, err := c.walk.read(off)
		if err != nil {
			return err
		}
		if err := c.block(blk); err != nil {
			return fmt.Errorf("%s block at offset %d: %w", blk.name, off, err)
		}
		off = blk.end()
	}
	if c.layout.rank < rankFileInfo {
		return fmt.Errorf("%w: its blocks end before the file info", ErrCorrupt)
	}
	if err := c.index.finish(c.layout.inlineEnd, c.reader.trailer.loadOnOpen); err != nil {
		return err
	}
	for _, b := range []*bloomProof{c.bloom, c.delete} {
		if err := b.finish(); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) block(blk *block) error {
	l := &c.layout
	chain := blockKinds[blk.kind].chain
	if blk.prev != l.prev[chain] {
		return fmt.Errorf("%w: its previous block is said to be at %d and is at %d", ErrCorrupt, blk.prev, l.prev[chain])
	}
	l.prev[chain] = blk.offset
	if l.perSum == 0 {
		l.checksum, l.perSum = blk.checksum, blk.bytesPerSum
	}
	if blk.checksum != l.checksum || blk.bytesPerSum != l.perSum {
		return fmt.Errorf("%w: checksums of type %s for %d bytes, before it %s for %d", ErrCorrupt, blk.checksum, blk.bytesPerSum, l.checksum, l.perSum)
	}
	rank := c.rank(blk)
	if rank < l.rank || rank == l.rank && rank >= rankRoot || rank >= rankRoot && rank <= rankFileInfo && rank != max(l.rank, rankRoot-1)+1 {
		return fmt.Errorf("%w: it is out of place", ErrCorrupt)
	}
	l.rank = rank
	l.counts[blk.kind]++
	whole := headerSize + int64(len(blk.payload))
	if rank == rankRoot || rank == rankIntermediate || blk.kind == kindLeafIndex {
		l.index += int64(len(blk.payload))
	}
	if rank != rankRoot && rank != rankIntermediate {
		l.total += whole
	}
	if rank == rankInline {
		l.inlineEnd = blk.end()
	}
	switch blk.kind {
	case kindData, kindEncodedData:
		if l.firstData < 0 {
			l.firstData = blk.offset
		}
		l.lastData = blk.offset
		return c.dataBlock(blk)
	case kindLeafIndex:
		return c.index.passLeaf(blk)
	case kindBloomChunk:
		return c.passChunk(blk)
	case kindMeta:
		if l.metas >= c.meta.len() || c.meta.places[l.metas] != placeOf(blk) {
			return fmt.Errorf("%w: the meta index has no entry for it", ErrCorrupt)
		}
		l.metas++
	}
	return nil
}

// placeOf returns the block's place as an index stores it.
func placeOf(blk *block) placed { return placed{blk.offset, int32(headerSize + blk.onDisk)} }

// passChunk checks a filter chunk of the walk: it must be the next chunk of one of
// the filters.
func (c *checker) passChunk(blk *block) error {
	for _, b := range []*bloomProof{c.bloom, c.delete} {
		if b != nil && b.passed < b.meta.entries.len() && b.meta.entries.places[b.passed] == placeOf(blk) {
			b.passed++
			return nil
		}
	}
	return fmt.Errorf("%w: it is not the next chunk of any filter", ErrCorrupt)
}

// openSection reads the load-on-open section, from the root index on, before the walk
// reaches it. The walk then checks the order of its blocks.
func (c *checker) openSection() error {
	t := &c.reader.trailer
	blk, err := c.aside.read(t.loadOnOpen)
	if err != nil {
		return err
	}
	for off := blk.end(); off < c.aside.limit; off = blk.end() {
		if blk, err = c.aside.read(off); err != nil {
			return err
		}
		d := &decbuf{b: blk.payload}
		switch blk.kind {
		case kindRootIndex:
			n := int(t.metaIndexEntries)
			if n < 0 || n > len(blk.payload)/minRootEntry {
				return fmt.Errorf("%w: %d entries of the meta index in %d bytes", ErrCorrupt, n, len(blk.payload))
			}
			if err := c.meta.readRoot(d, n); err != nil {
				return fmt.Errorf("meta index at offset %d: %w", off, err)
			}
			if d.rest() > 0 {
				return fmt.Errorf("%w: %d bytes after the meta index at offset %d", ErrCorrupt, d.rest(), off)
			}
		case kindFileInfo:
			if off != t.fileInfo {
				return fmt.Errorf("%w: the file info is at %d, its trailer says %d", ErrCorrupt, off, t.fileInfo)
			}
		case kindBloomMeta:
			if c.reader.bloom == nil {
				return fmt.Errorf("%w: the bloom metadata at offset %d is out of place", ErrCorrupt, off)
			}
			c.bloom = &bloomProof{meta: c.reader.bloom, what: "bloom filter", blocks: &c.aside, probes: c.probes, rnd: c.rnd}
			if err := c.bloom.proveMeta(); err != nil {
				return fmt.Errorf("bloom metadata at offset %d: %w", off, err)
			}
		case kindDeleteBloomMeta:
			meta := &bloomReader{kind: BloomRow}
			if err := meta.parseMeta(blk.payload); err != nil {
				return fmt.Errorf("delete-family bloom metadata at offset %d: %w", off, err)
			}
			c.delete = &bloomProof{meta: meta, what: "delete-family bloom filter", blocks: &c.aside}
			if err := c.delete.proveMeta(); err != nil {
				return fmt.Errorf("delete-family bloom metadata at offset %d: %w", off, err)
			}
		}
	}
	return nil
}
