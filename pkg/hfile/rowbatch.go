package hfile

import (
	"fmt"
	"slices"
	"sync"
)

// rowBatch is rows between two ends of data blocks, and the blocks that they
// become. It begins with the first cell of a block, which may be within a row,
// and ends with the last one of a block; so it can be encoded by itself. It is
// filled, encoded and added to the file by one goroutine each, in turn.
type rowBatch struct {
	encoders *encoders
	values   [][]byte // of the row that is looked at
	done     chan struct{}

	left flat // the cell before the first
	rows []batchRow
	data []byte  // of each row the key and its values
	lens []int32 // of each row a length for each column, -1 where it has no cell here
	size int     // of the cells, unencoded

	blocks []batchBlock
	out    []byte   // of the blocks, compressed, with room for their headers
	keys   []byte   // of the index
	hashes []uint32 // two for each row that the batch adds to the file
	info   fileStats
	err    error
}

// batchRow is a row of which cells are in the batch, or which comes behind the
// batch's last cell: the filters have that one before its first block.
type batchRow struct {
	at, key int  // where it lies in data, and the length of its key
	added   bool // by what comes before the batch
}

// batchBlock is where the parts of a block end.
type batchBlock struct {
	kind   blockKind
	size   int // of its payload
	out    int
	key    int
	hashes int // of the rows that the filters have before the block's end
}

// encoders are those of one file that are not in use: as many as have encoded
// at a time. Any goroutine may take one.
type encoders struct {
	o       Options
	s       Schema
	tail    []byte
	qualMax int
	block   int // room for a block

	mu   sync.Mutex
	free []*RowWriter
}

// take finds an encoder, or makes one.
func (e *encoders) take() *RowWriter {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.free); n > 0 {
		r := e.free[n-1]
		e.free = e.free[:n-1]
		return r
	}
	w := &Writer{o: e.o, fullAt: e.o.blockLimits(), started: true, block: make([]byte, 0, e.block)}
	w.blocks = &blockWriter{comp: compressor{codec: e.o.Compression, level: e.o.Level, framing: e.o.Zstd}}
	return &RowWriter{w: w, s: e.s, tail: e.tail, qualMax: e.qualMax, tables: make(map[int]*pairTable), tableOf: -1}
}

func (e *encoders) give(r *RowWriter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free = append(e.free, r)
}

func (b *rowBatch) reset() {
	b.rows, b.data, b.lens, b.size = b.rows[:0], b.data[:0], b.lens[:0], 0
	b.blocks, b.out, b.keys, b.hashes = b.blocks[:0], b.out[:0], b.keys[:0], b.hashes[:0]
}

// add begins a row without cells, and gives the lengths of its values. There is
// room for that many bytes of the row, and to copy more than a short value has.
func (b *rowBatch) add(row []byte, added bool, room int) (lens []int32) {
	b.data = slices.Grow(b.data, room+shortValue)
	b.rows = append(b.rows, batchRow{at: len(b.data), key: len(row), added: added})
	b.data = append(b.data, row...)
	at := len(b.lens)
	b.lens = slices.Grow(b.lens, len(b.values))[:at+len(b.values)]
	lens = b.lens[at:]
	for i := range lens {
		lens[i] = -1
	}
	return lens
}

// row gives row i, valid until the next call.
func (b *rowBatch) row(i int) (key []byte, values [][]byte, cells int) {
	at := b.rows[i].at
	key = b.data[at : at+b.rows[i].key]
	at += len(key)
	n := len(b.values)
	for column, l := range b.lens[i*n : i*n+n] {
		if l < 0 {
			b.values[column] = nil
			continue
		}
		b.values[column] = b.data[at : at+int(l)]
		at += int(l)
		cells++
	}
	return key, b.values, cells
}

// encode makes the blocks, in any goroutine.
func (b *rowBatch) encode() {
	r := b.encoders.take()
	r.into = b
	w := r.w
	b.info.cells, b.info.keyBytes, b.info.valueBytes, b.info.biggest = 0, 0, 0, 0
	w.info, w.blocks.err = b.info, nil
	w.prev.setFlat(&b.left)
	w.startBlock()
	for i := range b.rows {
		key, values, cells := b.row(i)
		if cells > 0 {
			r.appendRow(key, values, b.rows[i].added)
			continue
		}
		r.startRow(key)
		r.openRow()
	}
	if b.err = w.blocks.err; b.err == nil && !w.blockFull() {
		b.err = fmt.Errorf("rows were cut where no block ends: behind %d cells of %d bytes", w.cells, w.unencoded)
	}
	b.pack(w)
	b.info = w.info
	b.encoders.give(r)
	b.done <- struct{}{}
}

// hash notes the hashes of a key that the filter is to have.
func (b *rowBatch) hash(key []byte) {
	h1, h2 := bloomHashesOf(key)
	b.hashes = append(b.hashes, h1, h2)
}

// pack takes the open block of an encoder over, and opens the next.
func (b *rowBatch) pack(w *Writer) {
	kind, payload := w.closeBlock()
	out, err := w.blocks.comp.block(b.out, payload)
	if err != nil {
		w.blocks.err = err
		return
	}
	b.out = out
	b.keys = append(b.keys, w.firstKey...)
	b.blocks = append(b.blocks, batchBlock{kind: kind, size: len(payload), out: len(b.out), key: len(b.keys), hashes: len(b.hashes)})
	w.startBlock()
}
