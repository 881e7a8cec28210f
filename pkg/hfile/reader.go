package hfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// ReaderOptions are the limits of a Reader.
type ReaderOptions struct {
	MaxBlock  int // bytes of a block after decompression, default DefaultMaxBlock
	ReadAhead int // bytes fetched at a time, default 256 KiB
}

// A Reader reads one HFile of major version 3. It validates checksums and
// the form of all that it reads: invalid data gives an error that wraps [ErrCorrupt]
// and names the offset. It returns the types and tags of cells as they are; [Check]
// validates them too, and the order of cells. Its memory is bounded by the block sizes of the file. A Reader is not safe for concurrent use.
type Reader struct {
	trailer   trailer
	size      int64
	blocks    blockReader
	root      indexEntries
	midKey    []byte // mid-key metadata after the root entries
	info      map[string][]byte
	infoOrder []string     // its keys in file order
	bloom     *bloomReader // nil without one
	decoder   cellDecoder  // settings for every scanner
}

// Meta holds the metadata stored in an HFile. It is not validated; [Check] does that.
type Meta struct {
	Bytes       int64 // of the whole file
	Cells       int64
	Compression Compression
	Encoding    Encoding
	Bloom       BloomType // BloomNone without a filter
	BloomKeys   int64     // keys in the filter
	IndexLevels int       // of the data index, at least 1
	Major       int       // 3
	Minor       int
	FirstKey    []byte            // of the first cell, as the flat bytes of HBase's KeyValue; nil in a file without cells
	LastKey     []byte            // of the last cell, in the same form
	Info        map[string][]byte // the file info, such as hfile.LASTKEY
}

// Open reads trailer, root index, file info and Bloom metadata. size is the size
// of the whole file. The error wraps [ErrCorrupt] if the file is not an HFile or is
// damaged, and [ErrUnsupported] if this package does not support its version or
// settings. Any other error is from r.
//
// A Reader needs no Close. It reads r whenever it is used.
func Open(r io.ReaderAt, size int64, o ReaderOptions) (*Reader, error) {
	o.MaxBlock = cmp.Or(o.MaxBlock, DefaultMaxBlock)
	if size < trailerSize {
		return nil, fmt.Errorf("%w: it has %d bytes, and an HFile at least %d", errNotHFile, size, trailerSize)
	}
	b := make([]byte, trailerSize)
	if n, err := r.ReadAt(b, size-trailerSize); n < trailerSize {
		return nil, fmt.Errorf("read the trailer at offset %d: %w", size-trailerSize, errors.Join(err, io.ErrUnexpectedEOF))
	}
	f := &Reader{size: size}
	if err := f.trailer.unmarshal(b, size); errors.Is(err, errNotHFile) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("trailer at offset %d: %w", size-trailerSize, err)
	}
	f.blocks = blockReader{r: r, limit: size - trailerSize, maxBlock: o.MaxBlock, atOnce: o.ReadAhead}
	f.blocks.comp = decompressor{codec: f.trailer.compression, maxBlock: o.MaxBlock}
	if err := f.loadOnOpen(); err != nil {
		return nil, err
	}
	return f, nil
}

// unmarshal parses the last 4096 bytes of a file.
func (t *trailer) unmarshal(b []byte, size int64) error {
	version := binary.BigEndian.Uint32(b[trailerSize-4:])
	t.major, t.minor = int(version&0xffffff), int(version>>24)
	if string(b[:8]) != trailerMagic {
		return fmt.Errorf("%w, or its end is missing: it has no trailer", errNotHFile)
	}
	if t.major < 1 || t.major > likelyMajor {
		return fmt.Errorf("%w: hfile version %d.%d", ErrCorrupt, t.major, t.minor)
	}
	if t.major != majorVersion {
		return fmt.Errorf("hfile version %d.%d: %w (known: 3)", t.major, t.minor, ErrUnsupported)
	}
	if t.minor > minorVersion {
		return fmt.Errorf("hfile version %d.%d: %w (known: 3.0 to 3.%d)", t.major, t.minor, ErrUnsupported, minorVersion)
	}
	d := &decbuf{b: b[8 : trailerSize-4]}
	body := d.bytes(d.length())
	if d.err != nil {
		return d.err
	}
	var codec uint64
	var encrypted bool
	err := protoFields(body, func(number int, v uint64, bytes []byte) {
		switch number {
		case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
			*t.numbers()[number-1] = int64(v)
		case 11:
			t.comparator = string(bytes)
		case 12:
			codec = v
		case 13:
			encrypted = true
		}
	})
	if err != nil {
		return err
	}
	if encrypted {
		return fmt.Errorf("encrypted hfile: %w", ErrUnsupported)
	}
	if t.compression, err = compressionOf(codec); err != nil {
		return err
	}
	end := size - trailerSize
	switch {
	case t.loadOnOpen < 0 || t.loadOnOpen >= end:
		return fmt.Errorf("%w: load-on-open section at %d of %d", ErrCorrupt, t.loadOnOpen, end)
	case t.fileInfo < t.loadOnOpen || t.fileInfo >= end:
		return fmt.Errorf("%w: file info at %d, outside %d..%d", ErrCorrupt, t.fileInfo, t.loadOnOpen, end)
	case t.levels < 1 || t.levels > maxLevels:
		return fmt.Errorf("%w: %d index levels", ErrCorrupt, t.levels)
	case t.cells < 0 || t.dataIndexEntries < 0 || t.dataIndexEntries > size/minRootEntry:
		return fmt.Errorf("%w: %d cells and %d root index entries in %d bytes", ErrCorrupt, t.cells, t.dataIndexEntries, size)
	case t.cells > 0 && t.dataIndexEntries == 0:
		return fmt.Errorf("%w: %d cells and no root index entry", ErrCorrupt, t.cells)
	case t.cells > 0 && (t.firstData < 0 || t.lastData < t.firstData || t.lastData >= t.loadOnOpen):
		return fmt.Errorf("%w: data blocks from %d to %d, before %d", ErrCorrupt, t.firstData, t.lastData, t.loadOnOpen)
	}
	return nil
}

const (
	maxLevels    = 16
	minRootEntry = 12 // fewer bytes are possible only with compression, but an index block is never that dense
)

// loadOnOpen reads the blocks from the root index on.
func (r *Reader) loadOnOpen() error {
	t := &r.trailer
	blk, err := r.blocks.read(t.loadOnOpen)
	if err != nil {
		return err
	}
	if blk.kind != kindRootIndex {
		return fmt.Errorf("%w: a %s block at offset %d, where the root index should be", ErrCorrupt, blk.name, blk.offset)
	}
	d := &decbuf{b: blk.payload}
	if err := r.root.readRoot(d, int(t.dataIndexEntries)); err != nil {
		return fmt.Errorf("root index at offset %d: %w", blk.offset, err)
	}
	r.midKey = bytes.Clone(d.b[d.at:])
	if blk, err = r.blocks.read(t.fileInfo); err != nil {
		return err
	}
	if blk.kind != kindFileInfo {
		return fmt.Errorf("%w: a %s block at offset %d, where the file info should be", ErrCorrupt, blk.name, blk.offset)
	}
	if r.info, r.infoOrder, err = parseFileInfo(blk.payload); err != nil {
		return fmt.Errorf("file info at offset %d: %w", blk.offset, err)
	}
	next := blk.end()
	if err := r.settings(); err != nil {
		return fmt.Errorf("file info at offset %d: %w", t.fileInfo, err)
	}
	for next < r.blocks.limit {
		if blk, err = r.blocks.read(next); err != nil {
			return err
		}
		if blk.kind == kindBloomMeta {
			if r.bloom, err = r.parseBloom(blk.payload); err != nil {
				return fmt.Errorf("bloom metadata at offset %d: %w", blk.offset, err)
			}
		}
		next = blk.end()
	}
	return nil
}

func (x *indexEntries) readRoot(d *decbuf, n int) error {
	for range n {
		p := placed{offset: d.i64(), size: int32(d.i32())}
		key := d.vbytes()
		if d.err != nil {
			return d.err
		}
		x.add(p, key)
	}
	return nil
}

// maxInfoEntries limits the memory of a file info: an entry takes a few bytes
// in the file and about a hundred in a map. HBase writes about twenty entries.
const maxInfoEntries = 10_000

// parseFileInfo returns the pairs and the order of their keys.
func parseFileInfo(b []byte) (map[string][]byte, []string, error) {
	d := &decbuf{b: b}
	if string(d.bytes(4)) != "PBUF" {
		return nil, nil, fmt.Errorf("%w: it does not start with PBUF", ErrCorrupt)
	}
	body := d.bytes(d.length())
	if d.err != nil {
		return nil, nil, d.err
	}
	info := make(map[string][]byte)
	var order []string
	var inner error
	err := protoFields(body, func(_ int, _ uint64, pair []byte) {
		if inner != nil {
			return
		}
		var key string
		var value []byte
		inner = protoFields(pair, func(number int, _ uint64, b []byte) {
			if number == 1 {
				key = string(b)
			} else {
				value = b
			}
		})
		if _, ok := info[key]; !ok {
			order = append(order, key)
		}
		info[key] = bytes.Clone(value)
		if inner == nil && len(order) > maxInfoEntries {
			inner = fmt.Errorf("%w: more than %d entries", ErrCorrupt, maxInfoEntries)
		}
	})
	return info, order, errors.Join(err, inner)
}

// settings reads the file info entries that determine how cells are parsed.
func (r *Reader) settings() error {
	if v, ok := r.info[infoEncoding]; ok {
		e, err := ParseEncoding(string(v))
		if err != nil {
			return err
		}
		r.decoder.encoding = e
	}
	_, r.decoder.tags = r.info[infoMaxTagsLen]
	if v := r.info[infoTagsPacked]; len(v) == 1 && v[0] != 0 {
		switch r.decoder.encoding {
		case EncodingPrefix, EncodingDiff, EncodingFastDiff:
			r.decoder.tagDict = new(tagDict)
		} // other encodings write tags uncompressed, whatever the file info says (NoneEncoder, 2.6.4)
	}
	if v := r.info[infoKVVersion]; len(v) == 4 {
		r.decoder.mvcc = binary.BigEndian.Uint32(v) == 1
	}
	return nil
}

// Meta returns the metadata that was read when the file was opened. The caller
// owns its maps and slices.
func (r *Reader) Meta() Meta {
	m := Meta{
		Bytes: r.size, Cells: r.trailer.cells, Compression: r.trailer.compression, Encoding: r.decoder.encoding,
		IndexLevels: int(r.trailer.levels), Major: r.trailer.major, Minor: r.trailer.minor,
		LastKey: bytes.Clone(r.info[infoLastKey]), Info: maps.Clone(r.info),
	}
	for key, value := range m.Info {
		m.Info[key] = bytes.Clone(value)
	}
	if r.bloom != nil {
		m.BloomKeys = r.bloom.keys
		m.Bloom, _ = ParseBloomType(string(r.info[infoBloomType]))
	}
	if r.root.len() > 0 {
		m.FirstKey = bytes.Clone(r.root.key(0))
	}
	return m
}

// Rows returns the first and the last row of the file, nil if it has no cells.
func (r *Reader) Rows() (first, last []byte, err error) {
	m := r.Meta()
	if m.Cells == 0 {
		return nil, nil, nil
	}
	f, err := parseKey(m.FirstKey)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: first key of the index: %w", ErrCorrupt, err)
	}
	l, err := parseKey(m.LastKey)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s in the file info: %w", ErrCorrupt, infoLastKey, err)
	}
	return f.row(), l.row(), nil
}

// Family returns the column family of the file's cells, nil if the file has no
// cells. A file has one family; Family reads it from the last key.
func (r *Reader) Family() ([]byte, error) {
	last := r.info[infoLastKey]
	if last == nil {
		return nil, nil
	}
	k, err := parseKey(last)
	if err != nil {
		return nil, fmt.Errorf("%w: %s in the file info: %w", ErrCorrupt, infoLastKey, err)
	}
	return bytes.Clone(k.family()), nil
}

// InfoKeys returns the sorted keys of the file info.
func (m Meta) InfoKeys() []string { return slices.Sorted(maps.Keys(m.Info)) }
