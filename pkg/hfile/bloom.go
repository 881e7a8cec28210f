package hfile

import (
	"bytes"
	"encoding/binary"
	"math"
)

// hashMurmur is the stored code of HBase's default hash (util.Hash, 2.6.4).
const hashMurmur = 1

// bloomMaxFold limits how a chunk is sized, not how often it is folded (BloomFilterUtil, 2.6.4).
const bloomMaxFold = 7

// murmur2 is HBase's MurmurHash: Murmur 2 whose tail bytes are sign-extended.
func murmur2(key []byte, seed uint32) uint32 {
	const m = 0x5bd1e995
	h := seed ^ uint32(len(key))
	for len(key) >= 4 {
		k := binary.LittleEndian.Uint32(key) * m
		k ^= k >> 24
		h = h*m ^ k*m
		key = key[4:]
	}
	if len(key) > 0 {
		switch len(key) {
		case 3:
			h ^= uint32(int32(int8(key[2]))) << 16
			fallthrough
		case 2:
			h ^= uint32(int32(int8(key[1]))) << 8
			fallthrough
		case 1:
			h ^= uint32(int32(int8(key[0])))
		}
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

// bloomSizing holds the parameters of every full chunk of a filter.
type bloomSizing struct {
	bytes   int // of a chunk before folding
	hashes  int
	maxKeys int64
}

// sizeBloom repeats the arithmetic of BloomFilterUtil.createBySize (2.6.4):
// doubles, a float error rate, and an integer division in the hash count.
func sizeBloom(chunkBytes int, errorRate float32, rowCol bool) bloomSizing {
	err := errorRate
	if rowCol {
		// A ROWCOL filter is queried twice for a column, so each answer must be more precise.
		err = float32(1 - math.Sqrt(1-float64(errorRate)))
	}
	unit := 1 << bloomMaxFold
	size := (chunkBytes + unit - 1) / unit * unit
	bits := int64(size) * 8
	ideal := int64(float64(bits) * (math.Ln2 * math.Ln2 / -math.Log(float64(err))))
	hashes := int(math.Ceil(math.Ln2 * float64(bits/max(ideal, 1))))
	maxKeys := int64(-float64(bits) * 1.0 / float64(hashes) * math.Log(1-math.Exp(math.Log(float64(err))/float64(hashes))))
	return bloomSizing{bytes: size, hashes: hashes, maxKeys: maxKeys}
}

// bloomHashesOf returns the two hashes that determine a key's bits.
func bloomHashesOf(key []byte) (h1, h2 uint32) {
	h1 = murmur2(key, 0)
	return h1, murmur2(key, h1)
}

// setHashedBits sets the bits of a key with hashes h1 and h2 as BloomFilterChunk.add
// does: 32-bit arithmetic that wraps, remainder before absolute value.
func setHashedBits(chunk []byte, hashes int, h1, h2 uint32) {
	bits := int32(len(chunk) * 8)
	h := int32(h1)
	mask := bloomMask(bits)
	for range hashes {
		loc := bloomBit(h, bits, mask)
		chunk[loc>>3] |= 1 << (loc & 7)
		h += int32(h2)
	}
}

// bloomMask returns the mask that replaces the remainder if bits is a power of two, as it is by default; otherwise 0.
func bloomMask(bits int32) int32 {
	if bits&(bits-1) != 0 {
		return 0
	}
	return bits - 1
}

// bloomBit returns |h mod bits|, given the mask of bits.
func bloomBit(h, bits, mask int32) int32 {
	if mask == 0 {
		h %= bits
	}
	sign := h >> 31
	h = (h ^ sign) - sign
	if mask != 0 {
		h &= mask
	}
	return h
}

// hasBloomBits reports whether a chunk may contain a key.
func hasBloomBits(chunk []byte, hashes int, hash bloomHash, key []byte) bool {
	h1 := hash(key, 0)
	h2 := hash(key, h1)
	bits := int32(len(chunk) * 8)
	h := int32(h1)
	mask := bloomMask(bits)
	for range hashes {
		loc := bloomBit(h, bits, mask)
		if chunk[loc>>3]&(1<<(loc&7)) == 0 {
			return false
		}
		h += int32(h2)
	}
	return true
}

// bloomWriter corresponds to HBase's CompoundBloomFilterWriter: it writes chunks
// of a fixed size between data blocks, and their index at the end of the file.
type bloomWriter struct {
	sizing   bloomSizing
	rowCol   bool
	chunk    []byte // nil when the next key opens a chunk
	keys     int64  // in chunk
	firstKey []byte // of chunk
	lastKey  []byte // last key added to any chunk
	ready    []readyChunk
	entries  indexEntries // of the chunks written
	total    int64        // keys
	maxKeys  int64        // sum over chunks, after folding
	byteSize int64        // likewise
	spare    []byte
}

type readyChunk struct {
	bits, firstKey []byte
}

func newBloomWriter(o *Options, rowCol bool) *bloomWriter {
	return &bloomWriter{sizing: sizeBloom(o.BloomBlockSize, o.BloomErrorRate, rowCol), rowCol: rowCol}
}

// add adds a key to the filter unless it equals the last key added.
func (b *bloomWriter) add(key []byte) {
	if b.total > 0 && bytes.Equal(key, b.lastKey) {
		return
	}
	h1, h2 := bloomHashesOf(key)
	b.put(key, h1, h2)
}

// addHashed is add for a key whose two hashes are known.
func (b *bloomWriter) addHashed(key []byte, h1, h2 uint32) {
	if b.total == 0 || !bytes.Equal(key, b.lastKey) {
		b.put(key, h1, h2)
	}
}

// addOther is addHashed for a key that differs from the last key added. It returns false and adds nothing if the key would be the
// first of a chunk. The caller must add another key before it uses [bloomWriter.lastKey].
func (b *bloomWriter) addOther(h1, h2 uint32) bool {
	if b.chunk == nil || b.keys >= b.sizing.maxKeys {
		return false
	}
	setHashedBits(b.chunk, b.sizing.hashes, h1, h2)
	b.keys++
	b.total++
	return true
}

func (b *bloomWriter) put(key []byte, h1, h2 uint32) {
	b.closeChunk(false)
	if b.chunk == nil {
		b.chunk = b.newChunk()
		b.firstKey = append([]byte(nil), key...)
	}
	setHashedBits(b.chunk, b.sizing.hashes, h1, h2)
	b.lastKey = append(b.lastKey[:0], key...)
	b.keys++
	b.total++
}

func (b *bloomWriter) newChunk() []byte {
	if b.spare != nil {
		c := b.spare[:b.sizing.bytes]
		clear(c)
		b.spare = nil
		return c
	}
	return make([]byte, b.sizing.bytes)
}

// closeChunk makes the current chunk ready for writing if it is full or if end is set.
func (b *bloomWriter) closeChunk(end bool) {
	if b.chunk == nil || b.keys < b.sizing.maxKeys && !end {
		return
	}
	folded, maxKeys := foldBloom(b.chunk, b.sizing.maxKeys, b.keys)
	b.maxKeys += maxKeys
	b.byteSize += int64(len(folded))
	b.ready = append(b.ready, readyChunk{bits: folded, firstKey: b.firstKey})
	b.chunk, b.firstKey, b.keys = nil, nil, 0
}

// foldBloom halves a chunk while its keys would fill less than half of it. A
// chunk that is not the last is full and is not folded.
func foldBloom(chunk []byte, maxKeys, keys int64) ([]byte, int64) {
	size := len(chunk)
	for size&1 == 0 && maxKeys > keys*2 {
		size >>= 1
		maxKeys >>= 1
	}
	for from := size; from < len(chunk); from += size {
		orInto(chunk[:size], chunk[from:from+size])
	}
	return chunk[:size], maxKeys
}

// orInto sets in dst the bits that are set in src. Both have the same length.
func orInto(dst, src []byte) {
	i := 0
	for ; i+8 <= len(src); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(dst[i:])|binary.LittleEndian.Uint64(src[i:]))
	}
	for ; i < len(src); i++ {
		dst[i] |= src[i]
	}
}

// writeReady writes the completed chunks and returns the size of their headers and payloads.
func (b *bloomWriter) writeReady(w *blockWriter, end bool) (uncompressed int64) {
	b.closeChunk(end)
	for _, c := range b.ready {
		place := w.write(kindBloomChunk, c.bits)
		b.entries.add(place, c.firstKey)
		uncompressed += headerSize + int64(len(c.bits))
		b.spare = c.bits[:0:cap(c.bits)]
		if cap(b.spare) < b.sizing.bytes {
			b.spare = nil
		}
	}
	b.ready = b.ready[:0]
	return uncompressed
}

// bloomVersion is the version of a compound filter's metadata.
const bloomVersion = 3

// rowColComparator is stored so that readers order the chunks' first keys as cells.
const rowColComparator = "org.apache.hadoop.hbase.CellComparatorImpl"

// meta returns the payload of the metadata block.
func (b *bloomWriter) meta() []byte {
	var dst []byte
	dst = binary.BigEndian.AppendUint32(dst, bloomVersion)
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.byteSize))
	dst = binary.BigEndian.AppendUint32(dst, uint32(b.sizing.hashes))
	dst = binary.BigEndian.AppendUint32(dst, hashMurmur)
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.total))
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.maxKeys))
	dst = binary.BigEndian.AppendUint32(dst, uint32(b.entries.len()))
	comparator := ""
	if b.rowCol {
		comparator = rowColComparator
	}
	dst = appendVlong(dst, int64(len(comparator)))
	dst = append(dst, comparator...)
	return b.entries.appendRoot(dst, 0, b.entries.len())
}

// appendRowColKey appends the key that a ROWCOL filter holds: a flat key with
// no family, the latest timestamp and the greatest type.
func appendRowColKey(dst, row, qualifier []byte) []byte {
	return appendKey(dst, row, nil, qualifier, LatestTimestamp, typeMaximum)
}
