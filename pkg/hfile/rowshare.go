package hfile

import (
	"bytes"
	"slices"
)

// Helpers are goroutines that encode rows for the goroutine that writes a file.
// Any goroutine may call the methods.
type Helpers interface {
	// Count returns the number of helpers. It may rise from 0, but a positive
	// count never falls while a file is written.
	Count() int
	// Do queues work for a helper and returns true, or returns false without queuing.
	Do(work func()) bool
	// Wait receives a value from done. Meanwhile it may do the helpers' work.
	Wait(done <-chan struct{})
}

// A batch is closed at the end of the block with which it reaches batchSize bytes
// of unencoded cells: less than a millisecond of work, and about 100 KiB of rows.
const batchSize = 1 << 20

// maxRows limits the bytes of rows that are copied before they are cut into batches.
const maxRows = 256 << 10

// Rows are handed to helpers only if an encoded cell cannot take more bytes than
// an unencoded one. Then the unencoded sizes alone determine where blocks end, so
// rows can be cut without encoding them. FAST_DIFF stores up to
// ten bytes in addition to key and value if their lengths are below these limits;
// the unencoded size counts eleven. The limits also bound the size of a batch.
const (
	maxSharedKey   = 1 << 14
	maxSharedValue = 256 << 10
	maxSharedBlock = 1 << 20
)

// sharing is the state of the rows that a [RowWriter] has handed to helpers.
type sharing struct {
	batch   *rowBatch   // the batch that is being filled; nil while rows are encoded directly
	open    int         // unencoded size of the cells since the last end of a block
	pending []*rowBatch // in file order

	copied     *Rows     // rows that were appended one by one; may be nil
	copiedFrom int       // the column, in the first copied row, at which the batch continues
	given      rowsPlace // the current row of appendRows
	values     [][]byte  // of the current row of given

	batchSize int
	encoders  *encoders
	spare     []*rowBatch
}

// Share lets helpers encode rows as soon as there are helpers. The file is the same byte for
// byte. Each helper adds up to two batches of rows and blocks, about 200 KiB each, to the
// writer's memory; with large values these take up to 5 MiB. Helpers are not used with settings that
// have no fast path, nor for rows with long keys or values.
func (r *RowWriter) Share(h Helpers) {
	if o := &r.writer.options; !r.general && o.EncodedRatio == 0 && o.BlockSize <= maxSharedBlock {
		r.helpers, r.batchSize = h, batchSize
	}
}

// NewRows returns empty rows for [RowWriter.AppendRows]. Any goroutine may call it.
func (r *RowWriter) NewRows() *Rows { return r.encoders.takeRows() }

// AppendRows is [RowWriter.AppendRow] for many rows, which it takes ownership of. Helpers encode them; the caller's
// goroutine determines where blocks end, and appends the blocks. Rows with an error are not added to the file.
func (r *RowWriter) AppendRows(b *Rows) error {
	w := r.writer
	if w.err != nil {
		return w.err
	}
	if b.err != nil {
		return w.fail(b.err)
	}
	r.cutCopied()
	if len(b.rows) > 0 && w.started && bytes.Compare(w.prev.row(), b.rows[0].key) >= 0 {
		return w.fail(outOfOrder(b.rows[0].key, w.prev.row()))
	}
	b.uses = 1
	if r.batch != nil && b.unshared {
		r.settle()
	}
	if err := r.appendRows(b); err != nil {
		return err
	}
	r.release(b)
	return w.blocks.err
}

// appendRows encodes rows until a batch can begin, and cuts the remaining rows into batches.
func (r *RowWriter) appendRows(b *Rows) error {
	if r.values == nil {
		r.values = make([][]byte, len(r.schema.Qualifiers))
	}
	defer func() { r.given = rowsPlace{} }()
	for row := range b.rows {
		r.given = rowsPlace{rows: b, row: row}
		if r.batch == nil {
			b.values(row, r.values)
			if r.general {
				if err := r.appendCells(b.rows[row].key, r.values); err != nil {
					return err
				}
				continue
			}
			r.appendRow(b.rows[row].key, r.values, false)
		}
		if r.batch != nil {
			r.cut(r.given)
			break
		}
	}
	return nil
}

// share starts handing rows to helpers, if there are helpers. The first batch begins at a column of the current row, after the
// end of a block. last is the previous column, -1 for none.
func (r *RowWriter) share(row []byte, values [][]byte, column, last int) bool {
	if r.helpers.Count() == 0 {
		return false
	}
	if r.given.rows == nil {
		b := r.NewRows()
		if b.addValues(row, values); b.unshared {
			r.encoders.giveRows(b)
			return false
		}
		b.uses = 1
		r.copied, r.copiedFrom = b, column
	} else if r.given.rows.unshared {
		return false
	}
	r.given.column = column
	r.open = 0
	r.beginBatch(last, column)
	return true
}

// shareRow copies a row for the helpers.
func (r *RowWriter) shareRow(row []byte, values [][]byte) {
	if !slices.ContainsFunc(values, func(v []byte) bool { return v != nil }) {
		return
	}
	if len(row) >= r.encoders.form.row || slices.ContainsFunc(values, func(v []byte) bool { return len(v) >= maxSharedValue }) {
		r.settle()
		r.appendRow(row, values, false)
		return
	}
	if r.copied == nil {
		r.copied, r.copiedFrom = r.NewRows(), 0
		r.copied.uses = 1
	}
	if r.copied.addValues(row, values); r.copied.full() {
		r.cutCopied()
	}
}

func (r *RowWriter) cutCopied() {
	b := r.copied
	if b == nil {
		return
	}
	r.copied = nil
	r.cut(rowsPlace{rows: b, column: r.copiedFrom})
	r.release(b)
}

// cut adds the cells from a place on to batches. A batch always ends where a block ends.
func (r *RowWriter) cut(from rowsPlace) {
	rows, limit := from.rows, r.writer.options.BlockSize
	r.addPart(rows, from.row)
	for row := from.row; row < len(rows.rows); row++ {
		size := rows.sizes[row]
		if column := from.column; column > 0 || r.open+size >= limit {
			r.cutRow(rows, row, column)
			from.column = 0
			continue
		}
		r.open += size
		r.batch.size += size
	}
	r.endPart(len(rows.rows), len(rows.form.quals))
	last := len(rows.rows) - 1
	r.startRow(rows.rows[last].key)
	r.endRow(rows.lastColumn(last, len(rows.form.quals)))
}

// cutRow is cut for one row, if a block ends within the row or directly before it.
func (r *RowWriter) cutRow(rows *Rows, row, column int) {
	fixed := rows.form.fixed + len(rows.rows[row].key)
	for i, l := range rows.rowLens(row) {
		if l < 0 || i < column {
			continue
		}
		if r.open >= r.writer.options.BlockSize {
			r.open = 0
			if b := r.batch; b.size >= r.batchSize {
				r.endPart(row+1, i)
				r.resumeAt(rows, row, i)
				r.submit(b)
				r.addPart(rows, row)
			}
		}
		size := fixed + rows.form.quals[i] + int(l)
		r.open += size
		r.batch.size += size
	}
}

// resumeAt begins the next batch at a column of a row.
func (r *RowWriter) resumeAt(rows *Rows, row, column int) {
	last := rows.lastColumn(row, column)
	if last < 0 && row > 0 { // otherwise w.prev is already in the row before
		r.startRow(rows.rows[row-1].key)
		r.endRow(rows.lastColumn(row-1, len(rows.form.quals)))
	}
	r.startRow(rows.rows[row].key)
	r.beginBatch(last, column)
}

// beginBatch begins a batch at a column of the current row, after the column last or, if last is -1, after the previous row.
func (r *RowWriter) beginBatch(last, column int) {
	if n := len(r.spare); n > 0 {
		r.batch, r.spare = r.spare[n-1], r.spare[:n-1]
		r.batch.reset()
	} else {
		r.batch = &rowBatch{encoders: r.encoders, scratch: make([][]byte, len(r.schema.Qualifiers)), done: make(chan struct{}, 1)}
	}
	r.batch.first = column
	if last >= 0 {
		r.setLeft(&r.batch.left, last)
	} else {
		r.batch.left.setFlat(&r.writer.prev)
	}
}

// addPart opens a part of the open batch, which begins at the row with index from.
func (r *RowWriter) addPart(rows *Rows, from int) {
	rows.uses++
	r.batch.parts = append(r.batch.parts, rowsPart{rows: rows, from: from})
}

// endPart ends the open part before row to, and the batch before column end of the part's last row.
func (r *RowWriter) endPart(to, end int) {
	r.batch.parts[len(r.batch.parts)-1].to = to
	r.batch.end = end
}

// release drops one use of the rows. After the last one they are reused.
func (r *RowWriter) release(rows *Rows) {
	if rows.uses--; rows.uses == 0 {
		r.encoders.giveRows(rows)
	}
}

// submit hands a batch to a helper, or encodes it if no helper takes it, and
// adds finished batches to the file.
func (r *RowWriter) submit(b *rowBatch) {
	r.pending = append(r.pending, b)
	if !r.helpers.Do(b.encode) {
		b.encode()
	}
	r.collect(2*r.helpers.Count() + 2)
}

// collect adds batches to the file, in order. It waits for batches until at most
// most of them are pending, and then continues as long as the next one is done.
func (r *RowWriter) collect(most int) {
	n := 0
	for _, b := range r.pending {
		if len(r.pending)-n > most {
			r.helpers.Wait(b.done)
		} else {
			select {
			case <-b.done:
			default:
				r.pending = append(r.pending[:0], r.pending[n:]...)
				return
			}
		}
		r.addBatch(b)
		n++
	}
	r.pending = r.pending[:0]
}

// addBatch appends the blocks of a batch to the file and makes the batch available for reuse.
func (r *RowWriter) addBatch(b *rowBatch) {
	w := r.writer
	if w.blocks.err == nil {
		w.blocks.err = b.err
	}
	rows := b.afterFirst()
	out, key, hashes := 0, 0, 0
	for _, k := range b.blocks {
		for ; hashes < k.hashes; hashes += 2 {
			h1, h2 := b.hashes[hashes], b.hashes[hashes+1]
			// No two rows are equal, so most keys need not be read: they are in another core's cache.
			if last := hashes+2 == len(b.hashes); last || w.options.Bloom != BloomRow || !w.bloom.addOther(h1, h2) {
				w.bloom.addHashed(r.bloomKey(b.key(rows)), h1, h2)
			}
			rows = b.next(rows)
		}
		place := w.blocks.writePacked(k.kind, b.out[out:k.out], k.size)
		w.addBlock(place, k.size, b.keys[key:k.key])
		w.writeInline(false)
		out, key = k.out, k.key
	}
	from := &b.info
	w.info.cells += from.cells
	w.info.keyBytes += from.keyBytes
	w.info.valueBytes += from.valueBytes
	if from.biggest > w.info.biggest {
		w.info.biggest = from.biggest
		w.info.biggestKey = append(w.info.biggestKey[:0], from.biggestKey...)
	}
	for _, p := range b.parts {
		r.release(p.rows)
	}
	r.spare = append(r.spare, b)
}

// settle ends the sharing: it adds pending batches to the file and encodes the rows of
// the open batch itself. Sharing may start again at the end of a block.
func (r *RowWriter) settle() {
	r.cutCopied()
	r.collect(0)
	b := r.batch
	r.batch = nil
	helpers := r.helpers
	r.helpers = nil
	r.writer.prev.setFlat(&b.left)
	b.eachRow(func(key []byte, values [][]byte, known bool) { r.appendRow(key, values, known) })
	r.helpers = helpers
	for _, p := range b.parts {
		r.release(p.rows)
	}
	r.spare = append(r.spare, b)
}
