package hfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// ErrOrder is wrapped by the error for a cell that sorts before the previous one, an [*OrderError].
var ErrOrder = errors.New("cells out of order")

// ErrTooLarge is wrapped by the error for a cell beyond HBase's limits.
var ErrTooLarge = errors.New("cell too large")

// ErrIndexMemory is wrapped by the error for a file whose root index passes [Options.IndexMemory].
var ErrIndexMemory = errors.New("the index of the file takes too much memory")

// A Writer writes one HFile from ordered cells. Its first error is sticky:
// later calls return it again, and Finish then fails, so a loop may check once.
//
// Memory: one data block, one index block, one or two Bloom chunks and about
// two megabytes of output, whatever the file's size, plus the root index (a key
// and about 40 bytes for each 128 KiB of leaf index; [Options.IndexMemory] limits
// it) and a key and about 40 bytes for each Bloom chunk.
type Writer struct {
	options Options
	fullAt  blockLimits
	blocks  *blockWriter
	index   indexWriter
	bloom   *bloomWriter // nil for BloomNone
	delete  *bloomWriter // rows with delete-family markers; nil for BloomRowCol

	block      []byte // cells of the open data block, after blockPrefix bytes
	cells      int    // in block
	unencoded  int    // unencoded size of the cells in block
	firstKey   []byte // index key of the open block
	prev, cur  flat   // the previous and the current cell; prev.value is in block
	prevAt     int    // position of prev's value in block
	prevLen    int    // and its length
	started    bool   // prev is set
	rowStarts  []uint32
	bloomKey   []byte
	stats      Stats
	info       fileStats
	err        error
	finished   bool
	dataBlocks int64
	firstData  int64
	lastData   int64
	total      int64 // trailer's total_uncompressed_bytes so far
}

// Stats describe a finished file.
type Stats struct {
	Cells    int64
	Bytes    int64  // of the file
	FirstRow []byte // owned by the caller, as LastRow is; nil in a file without cells
	LastRow  []byte
	Blocks   int64 // data blocks
}

// NewWriter returns a writer of one file. It writes nothing to out before about
// a megabyte is buffered. The caller must close out, after Finish. The error is
// that of [Options.Validate].
func NewWriter(out io.Writer, o Options) (*Writer, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("hfile options: %w", err)
	}
	o = o.withDefaults()
	w := &Writer{options: o, fullAt: o.blockLimits()}
	w.blocks = newBlockWriter(out, &o)
	w.index = indexWriter{maxSize: o.IndexBlockSize, minEntries: o.IndexMinEntries, most: o.IndexMemory}
	if o.Bloom != BloomNone {
		w.bloom = newBloomWriter(&o, o.Bloom == BloomRowCol)
	}
	if o.Bloom != BloomRowCol {
		w.delete = newBloomWriter(&o, false)
	}
	w.block = make([]byte, 0, min(o.BlockSize+o.BlockSize/4, 16<<20)+4<<10)
	w.reset(out)
	return w, nil
}

// Append adds one cell. Its slices are not kept. The error is an [*OrderError]
// for a cell that sorts before the previous one and wraps [ErrTooLarge] for a
// cell beyond HBase's limits. Append also fails for a timestamp below 0,
// another family, a type or tags that a file cannot hold, and a failing output.
func (w *Writer) Append(c *Cell) error {
	if w.err != nil {
		return w.err
	}
	if err := w.check(c); err != nil {
		return w.fail(err)
	}
	if len(w.options.Family) == 0 {
		w.options.Family = append([]byte(nil), c.Family...)
	}
	w.cur.setKey(c.Row, c.Family, c.Qualifier, c.Timestamp, c.Type)
	w.cur.value, w.cur.tags = c.Value, c.Tags
	equal := false
	if w.started {
		order := compareFlat(&w.prev, &w.cur)
		if order > 0 {
			return w.fail(&OrderError{w.cur.describe(), w.prev.describe()})
		}
		equal = order == 0
	}
	w.addToBlooms(&w.cur)
	if !equal && w.blockFull() {
		w.endBlock()
		w.writeInline(false)
	}
	w.put()
	return w.blocks.err
}

// put encodes w.cur into the open block and makes it w.prev.
func (w *Writer) put() {
	prev := &w.prev
	if w.cells == 0 {
		var left *flat
		if w.started {
			left = prev
		}
		w.firstKey = appendMidpoint(w.firstKey[:0], left, &w.cur)
		prev = nil
	} else {
		prev.value = w.block[w.prevAt : w.prevAt+w.prevLen]
	}
	if w.options.Encoding == EncodingRowIndexV1 && (prev == nil || string(prev.row()) != string(w.cur.row())) {
		w.rowStarts = append(w.rowStarts, uint32(len(w.block)-blockPrefix))
		w.unencoded += 4 // the row's position counts too (RowIndexEncoderV1, 2.6.4)
	}
	before := len(w.block)
	w.block = appendCell(w.block, w.options.Encoding, prev, &w.cur)
	w.placeValue(before)
	w.cells++
	w.unencoded += unencodedSize(len(w.cur.key), len(w.cur.value), len(w.cur.tags))
	w.info.add(&w.cur)
	w.prev, w.cur = w.cur, w.prev
	w.started = true
}

// placeValue records the position of w.cur's value in the block for the
// comparison with the next cell. The value precedes tags and sequence id, or is
// at the previous value's position if both values are the same.
func (w *Writer) placeValue(before int) {
	if w.options.Encoding == EncodingFastDiff && w.cells > 0 && w.block[before]&fastSameValue != 0 {
		return
	}
	tail := len(w.cur.tags) + 1 + 2
	if w.options.Encoding == EncodingPrefix || w.options.Encoding == EncodingDiff || w.options.Encoding == EncodingFastDiff {
		tail = len(w.cur.tags) + 1 + (bits.Len(uint(len(w.cur.tags))|1)+6)/7
	}
	w.prevAt, w.prevLen = len(w.block)-tail-len(w.cur.value), len(w.cur.value)
}

// check refuses cells that HBase's own classes would not accept or could not read back.
func (w *Writer) check(c *Cell) error {
	switch {
	case len(c.Row) > MaxRowLen:
		return fmt.Errorf("%w: row of %d bytes, more than %d", ErrTooLarge, len(c.Row), MaxRowLen)
	case len(c.Family) == 0 || len(c.Family) > MaxFamilyLen:
		return fmt.Errorf("%w: family %q has %d bytes, outside 1..%d", ErrTooLarge, c.Family, len(c.Family), MaxFamilyLen)
	case len(c.Tags) > MaxTagsLen:
		return fmt.Errorf("%w: tags of %d bytes, more than %d, in a row of %d bytes", ErrTooLarge, len(c.Tags), MaxTagsLen, len(c.Row))
	case int64(len(c.Row))+int64(len(c.Qualifier))+int64(len(c.Value)) > 1<<30:
		return fmt.Errorf("%w: over %d bytes in a row of %d bytes", ErrTooLarge, 1<<30, len(c.Row))
	case c.Timestamp < 0:
		return fmt.Errorf("timestamp %d of a row of %d bytes is below 0", c.Timestamp, len(c.Row))
	case len(w.options.Family) > 0 && string(w.options.Family) != string(c.Family):
		return fmt.Errorf("cell of family %q in a file of family %q, row of %d bytes", c.Family, w.options.Family, len(c.Row))
	case !cellTypes[c.Type]:
		return fmt.Errorf("a file cannot hold a cell of type %d, in a row of %d bytes", c.Type, len(c.Row))
	case len(c.Tags) > 0 && proveTags(c.Tags) != nil:
		return fmt.Errorf("tags of a cell in a row of %d bytes: want for each u16 length, u8 type and payload, of a time to live 8 bytes", len(c.Row))
	}
	return nil
}

// addToBlooms is called before the block check: when chunks are written after
// this block, the filters already hold the first row of the next block.
func (w *Writer) addToBlooms(c *flat) {
	switch w.options.Bloom {
	case BloomRow:
		w.bloom.add(c.row())
	case BloomRowPrefix:
		w.bloom.add(c.row()[:min(c.rowLen, w.options.BloomPrefix)])
	case BloomRowCol:
		w.bloomKey = appendRowColKey(w.bloomKey[:0], c.row(), c.qualifier())
		w.bloom.add(w.bloomKey)
	}
	if t := c.typ(); t == DeleteFamily || t == DeleteFamilyVersion {
		w.info.deleteFamily++
		if w.delete != nil {
			w.delete.add(c.row())
		}
	}
}

// blockPrefix is the size of the encoding id and the unencoded size before
// encoded cells. ROW_INDEX_V1 has only the id.
const (
	blockPrefix    = 6
	rowIndexPrefix = 2
)

func (w *Writer) startBlock() {
	w.block = append(w.block[:0], 0, 0, 0, 0, 0, 0)
	w.rowStarts = w.rowStarts[:0]
	w.cells, w.unencoded = 0, 0
}

// blockFull reports whether the next key opens a new data block (HFileWriterImpl
// .checkBlockBoundary, 2.6.4).
func (w *Writer) blockFull() bool {
	if w.cells == 0 {
		return false
	}
	encoded := len(w.block) - blockPrefix
	if w.options.Encoding == EncodingRowIndexV1 {
		encoded = w.unencoded // HBase reports one size for both (RowIndexCodecV1, 2.6.4)
	}
	return encoded >= w.fullAt.encoded || w.unencoded >= w.fullAt.unencoded
}

// endBlock writes the open data block and opens the next.
func (w *Writer) endBlock() {
	kind, payload := w.closeBlock()
	w.blocks.fits(w.blocks.base+int64(len(w.blocks.buf)), int64(w.unencoded))
	w.addBlock(w.blocks.write(kind, payload), len(payload), w.firstKey)
	w.startBlock()
}

// closeBlock returns the kind and payload of the open data block.
func (w *Writer) closeBlock() (kind blockKind, payload []byte) {
	kind, payload = kindData, w.block[blockPrefix:]
	switch w.options.Encoding {
	case EncodingNone:
	case EncodingRowIndexV1:
		w.block = appendRowIndex(w.block, w.rowStarts)
		kind, payload = kindEncodedData, w.block[blockPrefix-rowIndexPrefix:]
		binary.BigEndian.PutUint16(payload, encodingIDs[w.options.Encoding])
	default:
		kind, payload = kindEncodedData, w.block
		binary.BigEndian.PutUint16(payload, encodingIDs[w.options.Encoding])
		binary.BigEndian.PutUint32(payload[2:], uint32(w.unencoded))
	}
	return kind, payload
}

// addBlock records a data block that was written.
func (w *Writer) addBlock(place placed, size int, firstKey []byte) {
	w.total += headerSize + int64(size)
	if w.firstData < 0 {
		w.firstData = place.offset
	}
	w.lastData = place.offset
	w.dataBlocks++
	w.index.add(place, firstKey)
}

// writeInline writes completed index leaves and Bloom chunks between data
// blocks, in HBase's order; with end set, it writes all of them. It is called once
// after each data block. After the last data block only the call with end set
// follows, so that a leaf that has just become full can still become the root.
func (w *Writer) writeInline(end bool) {
	w.total += w.index.writeLeaf(w.blocks, end)
	if w.bloom != nil {
		w.total += w.bloom.writeReady(w.blocks, end)
	}
	if w.delete != nil {
		w.total += w.delete.writeReady(w.blocks, end)
	}
}

// Finish writes the rest of the file. The file is complete only if Finish
// returns no error. A file without cells is valid too.
func (w *Writer) Finish() (Stats, error) {
	if w.err != nil {
		return Stats{}, w.err
	}
	if w.finished {
		return Stats{}, errors.New("hfile: finished twice")
	}
	w.finished = true
	if w.cells > 0 {
		w.endBlock()
	}
	w.writeInline(true)
	t := trailer{loadOnOpen: -1}
	root := w.index.finish(w.blocks)
	t.loadOnOpen = root.place.offset
	t.dataIndexUncompressed = root.uncompressed
	t.dataIndexEntries, t.levels = int64(root.entries), int64(root.levels)
	w.blocks.write(kindRootIndex, nil) // the meta index: nothing writes meta blocks
	info := w.fileInfo()
	t.fileInfo = w.blocks.write(kindFileInfo, info).offset
	w.total += headerSize + headerSize + int64(len(info))
	w.bloomMeta(kindBloomMeta, w.bloom)
	w.bloomMeta(kindDeleteBloomMeta, w.delete)
	t.totalUncompressed = w.total + trailerSize
	t.cells = w.info.cells
	t.firstData, t.lastData = w.firstData, w.lastData
	t.compression = w.options.Compression
	w.blocks.buf = append(w.blocks.buf, t.marshal()...)
	w.blocks.flush()
	if w.blocks.err != nil {
		return Stats{}, w.fail(w.blocks.err)
	}
	w.stats.Cells, w.stats.Bytes = w.info.cells, w.blocks.base
	w.stats.Blocks = w.dataBlocks
	if w.started {
		w.stats.FirstRow = w.info.firstRow
		w.stats.LastRow = append([]byte(nil), w.prev.row()...)
	}
	w.blocks.out, w.blocks.err = nil, errors.New("the file is finished") // a writer kept for reuse must not keep its file alive
	return w.stats, nil
}

func (w *Writer) bloomMeta(kind blockKind, b *bloomWriter) {
	if b == nil || b.total == 0 {
		return
	}
	meta := b.meta()
	w.blocks.write(kind, meta)
	w.total += headerSize + int64(len(meta))
}

func (w *Writer) fail(err error) error {
	w.err = fmt.Errorf("hfile: %w", err)
	return w.err
}

// appendRowIndex ends a ROW_INDEX_V1 block: it appends the number of rows, their
// positions, and the size of the cells before them (RowIndexEncoderV1, 2.6.4).
func appendRowIndex(block []byte, starts []uint32) []byte {
	size := len(block) - blockPrefix
	block = binary.BigEndian.AppendUint32(block, uint32(len(starts)))
	for _, s := range starts {
		block = binary.BigEndian.AppendUint32(block, s)
	}
	return binary.BigEndian.AppendUint32(block, uint32(size))
}
