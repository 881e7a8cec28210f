package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// Schema holds the properties that all rows of a file share. A [RowWriter]
// keeps it: it must not be changed while the RowWriter is in use.
type Schema struct {
	Qualifiers [][]byte // in rising order, no two equal
	Timestamp  int64    // of every cell, milliseconds since 1970
}

// A RowWriter writes rows of one schema: every cell is a put with the schema's
// timestamp. In FAST_DIFF all bytes before a value are then nearly constant for
// a pair of neighbouring columns, so they are copied from a template instead of
// computed from the previous cell. The file is the same, byte for byte, as
// [Writer.Append] writes from the same cells.
type RowWriter struct {
	writer  *Writer
	schema  Schema
	general bool   // settings without a fast path
	tail    []byte // timestamp and type that end every key
	qualMax int
	tables  map[int]*pairTable // by row length
	table   *pairTable
	tableOf int
	scratch pairTemplate
	left    flat // the previous cell, when an index key is needed inside a row

	into    *rowBatch // in the encoder of a batch: destination of its blocks
	helpers Helpers   // nil: no rows are shared
	sharing           // state of the sharing
}

// maxTables limits the number of row lengths with templates. Usual key designs
// have one length or a few dozen.
const maxTables = 64

// maxPairColumns is the maximum number of columns with a template for every
// pair. With more columns, only neighbours have one.
const maxPairColumns = 32

// NewRowWriter is [NewWriter] for rows. The options must name the family.
func NewRowWriter(out io.Writer, o Options, s Schema) (*RowWriter, error) {
	if len(o.Family) == 0 {
		return nil, fmt.Errorf("hfile options: rows need a family")
	}
	if s.Timestamp < 0 {
		return nil, fmt.Errorf("hfile schema: timestamp %d is below 0", s.Timestamp)
	}
	w, err := NewWriter(out, o)
	if err != nil {
		return nil, err
	}
	r := &RowWriter{writer: w, schema: s, tableOf: -1, tables: make(map[int]*pairTable)}
	for i, q := range s.Qualifiers {
		if i > 0 && bytes.Compare(s.Qualifiers[i-1], q) >= 0 {
			return nil, fmt.Errorf("hfile schema: qualifier %q does not follow %q", q, s.Qualifiers[i-1])
		}
		r.qualMax = max(r.qualMax, len(q))
	}
	r.general = o.Bloom == BloomRowCol || o.Encoding != EncodingFastDiff && o.Encoding != EncodingNone
	r.tail = append(binary.BigEndian.AppendUint64(nil, uint64(s.Timestamp)), byte(Put))
	r.encoders = &encoders{options: w.options, schema: s, form: newRowsForm(&w.options, &s, r.qualMax), tail: r.tail, qualMax: r.qualMax, block: cap(w.block)}
	return r, nil
}

// AppendRow adds a row: values in the order of the schema's qualifiers, nil for
// a column that has no cell. Rows must be in strictly rising order. A row
// without cells is not stored. No slice is kept; bytes after a value, up to its
// capacity, may be read but do not matter. Errors are those of [Writer.Append];
// equal rows are out of order too.
func (r *RowWriter) AppendRow(row []byte, values [][]byte) error {
	w := r.writer
	if w.err != nil {
		return w.err
	}
	if len(values) != len(r.schema.Qualifiers) {
		return w.fail(fmt.Errorf("row of %d bytes has %d values for %d qualifiers", len(row), len(values), len(r.schema.Qualifiers)))
	}
	if len(row) > MaxRowLen {
		return w.fail(rowTooLong(row))
	}
	if w.started {
		if prev := r.lastRow(); bytes.Compare(prev, row) >= 0 {
			return w.fail(outOfOrder(row, prev))
		}
	}
	if r.general {
		return r.appendCells(row, values)
	}
	if r.batch != nil {
		r.shareRow(row, values)
	} else {
		r.appendRow(row, values, false)
	}
	return w.blocks.err
}

func rowTooLong(row []byte) error {
	return fmt.Errorf("%w: row of %d bytes, more than %d", ErrTooLarge, len(row), MaxRowLen)
}

func (r *RowWriter) lastRow() []byte {
	if b := r.copied; b != nil {
		return b.rows[len(b.rows)-1].key
	}
	return r.writer.prev.row()
}

// Finish is [Writer.Finish]. Afterwards no helper uses the writer's data.
func (r *RowWriter) Finish() (Stats, error) {
	if r.batch != nil && r.writer.err == nil {
		r.settle()
	}
	return r.writer.Finish()
}

// appendRow encodes the cells of a row and reports whether it has any. If added is set, the file already has the row's filter
// entry. When sharing starts within the row, the rest of it goes to the helpers.
func (r *RowWriter) appendRow(row []byte, values [][]byte, added bool) (cells bool) {
	w := r.writer
	r.startRow(row)
	if r.appendWhole(values, added) {
		return true
	}
	last := -1
	for i, v := range values {
		if v == nil {
			continue
		}
		if last < 0 && !added {
			r.openRow()
		}
		if w.blockFull() {
			r.turnBlock()
			if r.helpers != nil && r.share(row, values, i, last) {
				return true
			}
		}
		r.appendValue(last, i, values)
		last = i
	}
	if last >= 0 {
		r.endRow(last)
	}
	return last >= 0
}

// openRow adds the row to filters and statistics. It is called before the row's first cell is added, and therefore before an open
// block that is already full is ended.
func (r *RowWriter) openRow() {
	w := r.writer
	if r.into != nil {
		if w.options.Bloom != BloomNone {
			r.into.hash(r.bloomKey(w.cur.row()))
		}
		return
	}
	if w.bloom != nil {
		w.bloom.add(r.bloomKey(w.cur.row()))
	}
	w.info.addRow(w.cur.row(), r.schema.Timestamp)
}

// bloomKey returns the filter's key for a row.
func (r *RowWriter) bloomKey(row []byte) []byte {
	if r.writer.options.Bloom == BloomRowPrefix {
		return row[:min(len(row), r.writer.options.BloomPrefix)]
	}
	return row
}

// turnBlock ends the open block and begins the next.
func (r *RowWriter) turnBlock() {
	if r.into != nil {
		r.into.pack(r.writer)
		return
	}
	r.writer.endBlock()
	r.writer.writeInline(false)
}

// appendCells appends the row cell by cell, without the fast path.
func (r *RowWriter) appendCells(row []byte, values [][]byte) error {
	c := Cell{Row: row, Family: r.writer.options.Family, Timestamp: r.schema.Timestamp, Type: Put}
	for i, v := range values {
		if v == nil {
			continue
		}
		c.Qualifier, c.Value = r.schema.Qualifiers[i], v
		if err := r.writer.Append(&c); err != nil {
			return err
		}
	}
	return nil
}

// startRow builds the part of the flat key that all cells of the row share.
func (r *RowWriter) startRow(row []byte) {
	c := &r.writer.cur
	c.key = binary.BigEndian.AppendUint16(c.key[:0], uint16(len(row)))
	c.key = append(c.key, row...)
	c.key = append(c.key, byte(len(r.writer.options.Family)))
	c.key = append(c.key, r.writer.options.Family...)
	c.rowLen, c.famLen, c.tags = len(row), len(r.writer.options.Family), nil
	if len(row) != r.tableOf {
		r.chooseTable(len(row))
	}
}

// setKey completes the flat key for a column.
func (r *RowWriter) setKey(c *flat, column int) {
	c.key = append(c.key[:3+c.rowLen+c.famLen], r.schema.Qualifiers[column]...)
	c.key = append(c.key, r.tail...)
}

// appendValue adds the cell of one column. last is the previous column in this row, -1 for the row's first.
func (r *RowWriter) appendValue(last, column int, values [][]byte) {
	w := r.writer
	value := values[column]
	keyLen := w.cur.rowLen + w.cur.famLen + len(r.schema.Qualifiers[column]) + keyOverhead
	switch {
	case w.cells == 0:
		r.openBlock(last, column, value)
	case w.options.Encoding == EncodingNone:
		r.setKey(&w.cur, column)
		w.cur.value = value
		w.block = appendCell(w.block, EncodingNone, nil, &w.cur)
	case last < 0:
		r.appendFirst(column, value)
	default:
		r.appendOthers(last, column, 1, len(value), values)
	}
	w.cells++
	w.unencoded += unencodedSize(keyLen, len(value), 0)
	w.info.cells++
	w.info.keyBytes += int64(keyLen)
	w.info.valueBytes += int64(len(value))
	r.noteSize(column, len(value))
}

// openBlock writes the first cell of a block and builds the block's index key.
func (r *RowWriter) openBlock(last, column int, value []byte) {
	w := r.writer
	var left *flat
	switch {
	case last >= 0:
		left = &r.left
		r.setLeft(left, last)
	case w.started:
		left = &w.prev
	}
	r.setKey(&w.cur, column)
	w.cur.value = value
	w.firstKey = appendMidpoint(w.firstKey[:0], left, &w.cur)
	w.block = appendCell(w.block, w.options.Encoding, nil, &w.cur)
	r.valueAt(len(w.block)-2-len(value), len(value))
}

// setLeft builds the key of a column of the current row.
func (r *RowWriter) setLeft(left *flat, column int) {
	cur := &r.writer.cur
	left.key = append(left.key[:0], cur.key[:3+cur.rowLen+cur.famLen]...)
	left.rowLen, left.famLen = cur.rowLen, cur.famLen
	r.setKey(left, column)
}

// appendFirst writes the first cell of a row that is not the first of its block.
func (r *RowWriter) appendFirst(column int, value []byte) {
	w := r.writer
	r.setKey(&w.cur, column)
	w.cur.value = value
	w.prev.value = w.block[w.prevAt : w.prevAt+w.prevLen]
	at := len(w.block)
	w.block = appendFastDiff(w.block, &w.prev, &w.cur)
	w.block = append(w.block, 0, 0)
	if w.block[at]&fastSameValue == 0 {
		r.valueAt(len(w.block)-2-len(value), len(value))
	}
}

// valueAt records the position of the last value in the block.
func (r *RowWriter) valueAt(at, n int) { r.writer.prevAt, r.writer.prevLen = at, n }

// endRow makes the row's last cell the previous cell of the next row.
func (r *RowWriter) endRow(last int) {
	w := r.writer
	r.setKey(&w.cur, last)
	w.prev, w.cur = w.cur, w.prev
	w.started = true
}
