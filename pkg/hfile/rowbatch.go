package hfile

import (
	"fmt"
	"sync"
)

// rowBatch holds the rows between two ends of data blocks, and the blocks encoded
// from them. It begins with the first cell of a block, which may be within a row,
// and ends with the last cell of a block, so it can be encoded independently. One
// goroutine fills it, then one encodes it, then one adds it to the file.
type rowBatch struct {
	encoders *encoders
	scratch  [][]byte // values of the current row
	done     chan struct{}

	left  flat // the cell before the batch's first
	parts []rowsPart
	first int // the column, in the first row, at which the batch begins; the file already has the cells before it and the row's filter entry
	end   int // the column, in the last row, before which the batch ends; the filters get the row even if none of its cells is in the batch
	size  int // unencoded size of the cells

	touched byte // keeps the compiler from removing the reads of prefetch

	blocks []batchBlock
	out    []byte   // the compressed blocks, with room for their headers
	keys   []byte   // the index keys of the blocks
	hashes []uint32 // two for each row except the first
	info   fileStats
	err    error
}

// batchBlock is the kind, size and end positions of a block in its batch.
type batchBlock struct {
	kind   blockKind
	size   int // of the payload
	out    int
	key    int
	hashes int // of the rows that the filters receive before the block's end
}

// encoders holds the idle encoders of one file and Rows for reuse. It has as many
// encoders as have worked concurrently. Any goroutine may take one.
type encoders struct {
	options Options
	schema  Schema
	form    *rowsForm
	tail    []byte
	qualMax int
	block   int // initial capacity of a block

	free spares[*RowWriter]
	rows spares[*Rows]
}

// spares holds values for reuse. Any goroutine may take one.
type spares[T any] struct {
	mu   sync.Mutex
	free []T
}

// take returns a spare value, or a new one from make.
func (s *spares[T]) take(make func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		t := s.free[n-1]
		s.free = s.free[:n-1]
		return t
	}
	return make()
}

func (s *spares[T]) give(t T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, t)
}

func (e *encoders) encoder() *RowWriter {
	w := &Writer{options: e.options, fullAt: e.options.blockLimits(), started: true, block: make([]byte, 0, e.block)}
	w.blocks = &blockWriter{comp: compressor{codec: e.options.Compression, level: e.options.Level, framing: e.options.Zstd}}
	return &RowWriter{writer: w, schema: e.schema, tail: e.tail, qualMax: e.qualMax, tables: make(map[int]*pairTable), tableOf: -1}
}

// takeRows returns empty rows, reused or new.
func (e *encoders) takeRows() *Rows {
	return e.rows.take(func() *Rows { return &Rows{form: e.form} })
}

func (e *encoders) giveRows(b *Rows) {
	if b.done != nil {
		b.done()
	}
	b.reset()
	e.rows.give(b)
}

func (b *rowBatch) reset() {
	b.parts, b.size = b.parts[:0], 0
	b.blocks, b.out, b.keys, b.hashes = b.blocks[:0], b.out[:0], b.keys[:0], b.hashes[:0]
}

// eachRow calls do with each row: its key and its values in the batch, nil where a cell is before or after the batch. The values
// are valid until do returns. known is true for the first row, whose filter entry the file already has.
func (b *rowBatch) eachRow(do func(key []byte, values [][]byte, known bool)) {
	for i, p := range b.parts {
		touched := p.from
		for row := p.from; row < p.to; row++ {
			if row == touched {
				touched = min(row+touchRows, p.to)
				b.touched += p.rows.prefetch(row, touched)
			}
			p.rows.values(row, b.scratch)
			known := i == 0 && row == p.from
			if known {
				clear(b.scratch[:b.first])
			}
			if i == len(b.parts)-1 && row == p.to-1 {
				clear(b.scratch[b.end:])
			}
			do(p.rows.rows[row].key, b.scratch, known)
		}
	}
}

// batchRow is a row of a batch: the index of the part, and the row in it.
type batchRow struct{ part, row int }

// afterFirst returns the batch's second row: the first one that has no entry in the file's filters yet.
func (b *rowBatch) afterFirst() batchRow { return b.next(batchRow{0, b.parts[0].from}) }

// next returns the row after r, which may be past the batch's end.
func (b *rowBatch) next(r batchRow) batchRow {
	r.row++
	for r.part < len(b.parts)-1 && r.row == b.parts[r.part].to {
		r.part++
		r.row = b.parts[r.part].from
	}
	return r
}

func (b *rowBatch) key(r batchRow) []byte { return b.parts[r.part].rows.rows[r.row].key }

// encode encodes the blocks. Any goroutine may call it.
func (b *rowBatch) encode() {
	r := b.encoders.free.take(b.encoders.encoder)
	r.into = b
	w := r.writer
	b.info.cells, b.info.keyBytes, b.info.valueBytes, b.info.biggest = 0, 0, 0, 0
	w.info, w.blocks.err = b.info, nil
	w.prev.setFlat(&b.left)
	w.startBlock()
	b.eachRow(func(key []byte, values [][]byte, known bool) {
		if !r.appendRow(key, values, known) {
			r.openRow()
		}
	})
	if b.err = w.blocks.err; b.err == nil && !w.blockFull() {
		b.err = fmt.Errorf("rows were cut where no block ends: after %d cells of %d bytes", w.cells, w.unencoded)
	}
	b.pack(w)
	b.info = w.info
	b.encoders.free.give(r)
	b.done <- struct{}{}
}

// hash records the hashes of a key for the filter.
func (b *rowBatch) hash(key []byte) {
	h1, h2 := bloomHashesOf(key)
	b.hashes = append(b.hashes, h1, h2)
}

// pack takes the open block from an encoder and starts the next.
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
