package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// indexEntries is a list of (place, key) entries. The keys are in chunks, so that a list that grows is not copied.
type indexEntries struct {
	places []placed
	keys   [][]byte
	size   int    // bytes of all keys
	chunk  []byte // holds the last keys
}

// maxKeyChunk is the size from which the chunks of [indexEntries] do not grow.
const maxKeyChunk = 256 << 10

func (x *indexEntries) len() int { return len(x.places) }

func (x *indexEntries) key(i int) []byte { return x.keys[i] }

func (x *indexEntries) add(p placed, key []byte) {
	if cap(x.chunk)-len(x.chunk) < len(key) {
		x.chunk = make([]byte, 0, max(min(2*cap(x.chunk), maxKeyChunk), len(key), 256))
	}
	from := len(x.chunk)
	x.chunk = append(x.chunk, key...)
	x.places = append(x.places, p)
	x.keys = append(x.keys, x.chunk[from:])
	x.size += len(key)
}

func (x *indexEntries) reset() {
	clear(x.keys) // earlier chunks are not kept
	x.places, x.keys, x.size, x.chunk = x.places[:0], x.keys[:0], 0, x.chunk[:0]
}

// held returns the memory of the entries.
func (x *indexEntries) held() int64 { return int64(x.size) + int64(x.len())*48 }

// nonRootSize returns the size of all entries as a leaf or intermediate block.
func (x *indexEntries) nonRootSize() int {
	n := x.len()
	return 4 + 4*(n+1) + 12*n + x.size
}

// rootEntrySize returns the size of entry i in a root block.
func (x *indexEntries) rootEntrySize(i int) int {
	n := len(x.key(i))
	return 12 + vlongSize(int64(n)) + n
}

// appendRoot appends entries [from, to) in root format: offset, size, length and key.
func (x *indexEntries) appendRoot(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		dst = binary.BigEndian.AppendUint64(dst, uint64(x.places[i].offset))
		dst = binary.BigEndian.AppendUint32(dst, uint32(x.places[i].size))
		dst = appendVlong(dst, int64(len(x.key(i))))
		dst = append(dst, x.key(i)...)
	}
	return dst
}

// appendNonRoot appends entries [from, to) as a leaf or intermediate block: a count, the
// positions of all entries and of their end, then offset, size and key of each entry.
func (x *indexEntries) appendNonRoot(dst []byte, from, to int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(to-from))
	pos := 0
	for i := from; i < to; i++ {
		dst = binary.BigEndian.AppendUint32(dst, uint32(pos))
		pos += 12 + len(x.key(i))
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(pos))
	for i := from; i < to; i++ {
		dst = binary.BigEndian.AppendUint64(dst, uint64(x.places[i].offset))
		dst = binary.BigEndian.AppendUint32(dst, uint32(x.places[i].size))
		dst = append(dst, x.key(i)...)
	}
	return dst
}

// indexWriter corresponds to HFileBlockIndex.BlockIndexWriter (2.6.4). It
// collects an entry for each data block, writes full leaves between data
// blocks, and builds the upper levels when the file is closed.
type indexWriter struct {
	maxSize    int
	minEntries int
	most       int64 // bytes of root; 0: no limit

	leaf     indexEntries // entries not yet in a leaf
	root     indexEntries // an entry for each leaf written
	rootNums []int64      // data blocks in the leaves up to and including each
	blocks   int64        // data blocks
	buf      []byte

	uncompressed int64 // payload bytes of all data index blocks
}

func (x *indexWriter) add(p placed, key []byte) {
	x.leaf.add(p, key)
	x.blocks++
}

// writeLeaf writes the collected entries as a leaf if they fill one, or at the
// end if a leaf was written before. It returns the number of bytes for the
// trailer's total_uncompressed_bytes.
func (x *indexWriter) writeLeaf(w *blockWriter, end bool) (uncompressed int64) {
	if x.leaf.len() == 0 {
		return 0
	}
	if end {
		if x.root.len() == 0 {
			return 0 // the entries become the root
		}
	} else if x.leaf.nonRootSize() < x.maxSize {
		return 0
	}
	x.buf = x.leaf.appendNonRoot(x.buf[:0], 0, x.leaf.len())
	place := w.write(kindLeafIndex, x.buf)
	x.root.add(place, x.leaf.key(0))
	x.rootNums = append(x.rootNums, x.blocks)
	if held := x.root.held(); x.most > 0 && held > x.most && w.err == nil {
		w.err = fmt.Errorf("%w: %d bytes for %d blocks, more than %d", ErrIndexMemory, held, x.blocks, x.most)
	}
	x.uncompressed += int64(len(x.buf))
	x.leaf.reset()
	return headerSize + int64(len(x.buf))
}

// rootInfo holds the trailer's fields about the data index.
type rootInfo struct {
	place        placed
	entries      int
	levels       int
	uncompressed int64 // payload bytes of all data index blocks
}

// finish writes intermediate levels, if there are any, and the root.
func (x *indexWriter) finish(w *blockWriter) rootInfo {
	info := rootInfo{levels: 1}
	var midKey []byte
	root := &x.root
	if root.len() == 0 {
		root = &x.leaf
	} else {
		info.levels = 2
		midKey = x.midKey()
		for info.levels < 16 && root.len() > x.minEntries && x.rootSize(root) > x.maxSize {
			root = x.intermediate(w, root)
			info.levels++
		}
	}
	x.buf = root.appendRoot(x.buf[:0], 0, root.len())
	x.buf = append(x.buf, midKey...)
	info.place = w.write(kindRootIndex, x.buf)
	info.entries = root.len()
	info.uncompressed = x.uncompressed + int64(len(x.buf))
	return info
}

func (x *indexWriter) rootSize(e *indexEntries) int {
	n := 0
	for i := range e.len() {
		n += e.rootEntrySize(i)
	}
	return n
}

// intermediate cuts a level into blocks and returns the level above. HBase
// compares the minimum number of entries with the position in the whole level,
// not in the block, so only the first block is sure to have that many.
func (x *indexWriter) intermediate(w *blockWriter, level *indexEntries) *indexEntries {
	parent := new(indexEntries)
	from, size := 0, 0
	put := func(to int) {
		x.buf = level.appendNonRoot(x.buf[:0], from, to)
		place := w.write(kindIntermediateIndex, x.buf)
		parent.add(place, level.key(from))
		x.uncompressed += int64(len(x.buf))
		from, size = to, 0
	}
	for i := range level.len() {
		size += level.rootEntrySize(i)
		if i >= x.minEntries && size >= x.maxSize {
			put(i + 1)
		}
	}
	if from < level.len() {
		put(level.len())
	}
	return parent
}

// midKey encodes the leaf that holds the entry of the middle data block, and the
// entry's position in the leaf.
func (x *indexWriter) midKey() []byte {
	mid := (x.blocks - 1) / 2
	i, before := 0, int64(0)
	for x.rootNums[i] <= mid {
		before = x.rootNums[i]
		i++
	}
	p := x.root.places[i]
	b := binary.BigEndian.AppendUint64(nil, uint64(p.offset))
	b = binary.BigEndian.AppendUint32(b, uint32(p.size))
	return binary.BigEndian.AppendUint32(b, uint32(mid-before))
}

// appendMidpoint appends the index key of a block whose first cell is right and
// whose previous cell is left: a short key between them
// (HFileWriterImpl.getMidpoint, 2.6.4). A key with a synthetic row has no family.
func appendMidpoint(dst []byte, left, right *flat) []byte {
	if left == nil {
		return append(dst, right.key...)
	}
	row, qualifier := right.row(), right.qualifier()
	switch {
	case !bytes.Equal(left.row(), row):
		n, last := midpoint(left.row(), row)
		end := len(dst) + 2 + n // after the row and its length
		dst = appendKey(dst, row[:n], nil, nil, LatestTimestamp, typeMaximum)
		dst[end-1] = last
		return dst
	case !bytes.Equal(left.qualifier(), qualifier):
		n, last := midpoint(left.qualifier(), qualifier)
		dst = appendKey(dst, row, right.family(), qualifier[:n], LatestTimestamp, typeMaximum)
		dst[len(dst)-9-1] = last // before the timestamp and the type
		return dst
	}
	return append(dst, right.key...)
}

// midpoint returns the shortest key greater than left and not greater than right, for
// left < right: the first n bytes of right, with another last byte.
func midpoint(left, right []byte) (n int, last byte) {
	n = commonPrefix(left, right)
	if n == len(left) {
		return n + 1, 0
	}
	return n + 1, left[n] + 1
}
