package hfile

import (
	"bytes"
	"fmt"
	"sort"
)

// bloomReader holds the metadata of a file's general filter. Chunks are read on demand.
type bloomReader struct {
	kind    BloomType
	prefix  int
	hashes  int
	hash    bloomHash
	keys    int64
	entries indexEntries
	key     []byte

	byteSize   int64
	maxKeys    int64
	comparator string
	rest       int // bytes after the chunks' entries
}

func (r *Reader) parseBloom(b []byte) (*bloomReader, error) {
	kind, err := ParseBloomType(string(r.info[infoBloomType]))
	if err != nil {
		return nil, err
	}
	f := &bloomReader{kind: kind}
	if v := r.info[infoBloomParam]; kind == BloomRowPrefix {
		d := decbuf{b: v}
		if f.prefix = d.i32(); d.err != nil || f.prefix <= 0 {
			return nil, fmt.Errorf("%w: %s of %x", ErrCorrupt, infoBloomParam, v)
		}
	}
	return f, f.parseMeta(b)
}

// parseMeta reads the metadata of a general or a delete-family filter.
func (f *bloomReader) parseMeta(b []byte) error {
	d := &decbuf{b: b}
	if v := d.i32(); v != bloomVersion {
		return fmt.Errorf("bloom filter version %d: %w", v, ErrUnsupported)
	}
	f.byteSize = d.i64()
	f.hashes = d.i32()
	hash := d.i32()
	f.keys = d.i64()
	f.maxKeys = d.i64()
	chunks := d.i32()
	f.comparator = string(d.vbytes())
	if d.err == nil && (f.hashes < 1 || f.hashes > maxBloomHashes || chunks < 0 || chunks > d.rest()/minRootEntry) {
		d.fail(fmt.Sprintf("%d hashes, %d chunks", f.hashes, chunks))
	}
	if d.err == nil && (hash < 0 || hash >= len(bloomHashes)) {
		d.fail(fmt.Sprintf("hash type %d", hash))
	}
	if d.err != nil {
		return d.err
	}
	f.hash = bloomHashes[hash]
	err := f.entries.readRoot(d, chunks)
	f.rest = d.rest()
	return err
}

// MayContain queries the file's Bloom filter for a row or, if the filter holds
// columns, for a row's column. False means that the file does not contain it.
// Without a filter, MayContain returns true.
func (r *Reader) MayContain(row, qualifier []byte) (bool, error) {
	f := r.bloom
	if f == nil || f.kind == BloomNone {
		return true, nil
	}
	key := f.keyOf(row, qualifier)
	less := func(i int) bool { return bytes.Compare(f.entries.key(i), key) > 0 }
	if f.kind == BloomRowCol {
		want, err := parseKey(key)
		if err != nil {
			return false, err
		}
		less = func(i int) bool {
			k, err := parseKey(f.entries.key(i))
			return err == nil && compareFlat(&k, &want) > 0
		}
	}
	i := sort.Search(f.entries.len(), less) - 1
	if i < 0 {
		return false, nil
	}
	blk, err := f.chunk(&r.blocks, i)
	if err != nil {
		return false, err
	}
	return hasBloomBits(blk.payload, f.hashes, f.hash, key), nil
}

// keyOf returns the filter's key for a row's column. It is valid until the next call.
func (f *bloomReader) keyOf(row, qualifier []byte) []byte {
	switch f.kind {
	case BloomRowPrefix:
		return row[:min(len(row), f.prefix)]
	case BloomRowCol:
		f.key = appendRowColKey(f.key[:0], row, qualifier)
		return f.key
	}
	return row
}

func (f *bloomReader) chunk(blocks *blockReader, i int) (*block, error) {
	blk, err := blocks.read(f.entries.places[i].offset)
	if err != nil {
		return nil, err
	}
	if blk.kind != kindBloomChunk || len(blk.payload) == 0 || len(blk.payload) > 1<<28-1 {
		return nil, fmt.Errorf("%w: a %s block of %d bytes at offset %d, where a bloom chunk should be", ErrCorrupt, blk.name, len(blk.payload), blk.offset)
	}
	return blk, nil
}
