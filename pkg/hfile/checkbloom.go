package hfile

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// bloomProof recomputes a filter from the keys of the walk, chunk by chunk, and
// compares it with the file's.
type bloomProof struct {
	meta   *bloomReader
	what   string
	blocks *blockReader

	opened   int    // chunks so far
	passed   int    // chunks that the walk has passed
	stored   []byte // bits of the open chunk
	made     []byte // expected bits
	inChunk  int64  // keys in the open chunk
	perChunk int64  // keys of the first chunk, once it is full
	full     int    // bytes of the first chunk
	keys     int64
	bytes    int64
	last     []byte // key added last

	probes, due int
	probed      int64
	positives   int64
	probe       []byte
	rnd         *rand.Rand
}

// The comparators that HBase stores with a filter's chunks: none for plain bytes, for
// which 1.4 stores a name of its own (CompoundBloomFilterWriter, 1.4.14 and 2.6.4).
var (
	plainComparators = []string{"", "org.apache.hadoop.hbase.KeyValue$RawBytesComparator"}
	cellComparators  = []string{cellComparator, rowColComparator, "org.apache.hadoop.hbase.KeyValue$KeyComparator", "org.apache.hadoop.hbase.CellComparator"}
)

// proveMeta checks the part of the metadata that does not depend on keys.
func (b *bloomProof) proveMeta() error {
	m := b.meta
	comparators := plainComparators
	if m.kind == BloomRowCol {
		comparators = cellComparators
	}
	switch {
	case !slices.Contains(comparators, m.comparator):
		return fmt.Errorf("%w: comparator %.100q for a filter of type %s", ErrCorrupt, m.comparator, m.kind)
	case m.rest > 0:
		return fmt.Errorf("%w: %d bytes after the chunks' entries", ErrCorrupt, m.rest)
	case m.entries.len() == 0 || m.keys < int64(m.entries.len()):
		return fmt.Errorf("%w: %d keys in %d chunks", ErrCorrupt, m.keys, m.entries.len())
	}
	return nil
}

// add adds the next key of the file. A key equal to the previous one is ignored.
func (b *bloomProof) add(key []byte) error {
	if b.keys > 0 && bytes.Equal(key, b.last) {
		return nil
	}
	if b.opened < b.meta.entries.len() && bytes.Equal(key, b.meta.entries.key(b.opened)) {
		if err := b.closeChunk(); err != nil {
			return err
		}
		if err := b.openChunk(); err != nil {
			return err
		}
	} else if b.opened == 0 {
		return fmt.Errorf("%w: the first chunk of the %s does not begin with the first key", ErrCorrupt, b.what)
	}
	h1 := b.meta.hash(key, 0)
	setHashedBits(b.made, b.meta.hashes, h1, b.meta.hash(key, h1))
	b.last = append(b.last[:0], key...)
	b.inChunk++
	b.keys++
	return nil
}

// openChunk reads the chunk that begins with the current key.
func (b *bloomProof) openChunk() error {
	blk, err := b.meta.chunk(b.blocks, b.opened)
	if err != nil {
		return err
	}
	if p := b.meta.entries.places[b.opened]; placeOf(blk) != p {
		return fmt.Errorf("%w: a block of %d bytes at offset %d, where a chunk of %d of the %s should be", ErrCorrupt, placeOf(blk).size, blk.offset, p.size, b.what)
	}
	b.stored = append(b.stored[:0], blk.payload...)
	b.made = slices.Grow(b.made[:0], len(b.stored))[:len(b.stored)]
	clear(b.made)
	b.bytes += int64(len(b.stored))
	b.opened++
	b.inChunk = 0
	return nil
}

// closeChunk compares the open chunk with the expected bits. All chunks but the
// last are full: they have the same number of keys and bytes.
func (b *bloomProof) closeChunk() error {
	if b.opened == 0 {
		return nil
	}
	if !bytes.Equal(b.made, b.stored) {
		return fmt.Errorf("%w: the bits of the chunk at offset %d of the %s are not those of its keys", ErrCorrupt, b.meta.entries.places[b.opened-1].offset, b.what)
	}
	if b.opened == 1 {
		b.perChunk, b.full = b.inChunk, len(b.stored)
	} else if more := b.opened < b.meta.entries.len(); more && (b.inChunk != b.perChunk || len(b.stored) != b.full) || b.inChunk > b.perChunk {
		return fmt.Errorf("%w: %d keys in %d bytes in a chunk of the %s, %d in %d in its first", ErrCorrupt, b.inChunk, len(b.stored), b.what, b.perChunk, b.full)
	}
	return nil
}

// finish checks the last chunk and the totals in the metadata.
func (b *bloomProof) finish() error {
	if b == nil {
		return nil
	}
	if err := b.closeChunk(); err != nil {
		return err
	}
	m := b.meta
	chunks := m.entries.len()
	switch {
	case b.opened != chunks || b.passed != chunks:
		return fmt.Errorf("%w: the %s has %d chunks; %d begin with a key of the file and %d are where they should be", ErrCorrupt, b.what, chunks, b.opened, b.passed)
	case b.keys != m.keys:
		return fmt.Errorf("%w: the %s says that it holds %d keys, the file has %d", ErrCorrupt, b.what, m.keys, b.keys)
	case b.bytes != m.byteSize:
		return fmt.Errorf("%w: the %s says that it has %d bytes, its chunks have %d", ErrCorrupt, b.what, m.byteSize, b.bytes)
	case !b.maxKeysFit():
		return fmt.Errorf("%w: the %s says that it has room for %d keys", ErrCorrupt, b.what, m.maxKeys)
	}
	return nil
}

// maxKeysFit reports whether the metadata's maximum number of keys matches the chunks
// after folding (see foldBloom). For a filter of one chunk, only bounds can be checked.
func (b *bloomProof) maxKeysFit() bool {
	n := int64(b.meta.entries.len())
	last := b.meta.maxKeys
	if n > 1 {
		folds := bits.Len(uint(b.full/len(b.stored))) - 1
		if len(b.stored)<<folds != b.full {
			return false
		}
		last -= (n - 1) * b.perChunk
		if last != b.perChunk>>folds {
			return false
		}
	}
	return last >= b.inChunk && (len(b.stored)&1 == 1 || last <= 2*b.inChunk)
}

// probeAbsent queries the open chunk for keys that are not in the file: the row
// followed by random bytes. It spreads the requested number of probes over all keys.
// Prefix filters are skipped, because the prefix of such a row is in the file.
func (b *bloomProof) probeAbsent(row, qualifier []byte) {
	if b.probed >= int64(b.probes) || b.meta.kind == BloomRowPrefix {
		return
	}
	for b.due += b.probes; int64(b.due) >= b.meta.keys; b.due -= int(b.meta.keys) {
		b.probe = append(b.probe[:0], row[:min(len(row), 30000)]...)
		for range 12 {
			b.probe = append(b.probe, byte(b.rnd.UintN(256)))
		}
		b.probed++
		if hasBloomBits(b.stored, b.meta.hashes, b.meta.hash, b.meta.keyOf(b.probe, qualifier)) {
			b.positives++
		}
	}
}

// rate returns the share of false positives among the probes; nil without probes.
func (b *bloomProof) rate() *float64 {
	if b == nil || b.probed == 0 {
		return nil
	}
	rate := math.Round(float64(b.positives)/float64(b.probed)*1e6) / 1e6
	return &rate
}
