package hfile

import (
	"encoding/binary"
	"slices"
)

// rowSize holds the totals of a row's cells.
type rowSize struct {
	first, last int // first and last column with a cell; -1 if there is none
	cells       int
	bytes       int // total length of the values
	quals       int // total length of the qualifiers
	longest     int // maximum length of qualifier and value of one cell
}

func (r *RowWriter) sizeRow(values [][]byte) rowSize {
	s := rowSize{first: -1, last: -1}
	quals := r.schema.Qualifiers[:len(values)]
	for i, v := range values {
		if v == nil {
			continue
		}
		if s.cells == 0 {
			s.first = i
		}
		s.last = i
		s.cells++
		s.bytes += len(v)
		s.quals += len(quals[i])
		s.longest = max(s.longest, len(quals[i])+len(v))
	}
	return s
}

// appendWhole adds all cells of the current row without checks between them, if they certainly fit into the open block whatever
// their encoded size. It returns false if it added nothing.
func (r *RowWriter) appendWhole(values [][]byte, added bool) bool {
	w := r.writer
	if w.cells == 0 || w.options.Encoding != EncodingFastDiff {
		return false
	}
	s := r.sizeRow(values)
	if s.cells == 0 {
		return false
	}
	keys := s.cells*(w.cur.rowLen+w.cur.famLen+keyOverhead) + s.quals
	size := keys + s.bytes + s.cells*unencodedSize(0, 0, 0)
	encoded := len(w.block) - blockPrefix
	if w.unencoded+size > w.fullAt.unencoded || encoded+size > w.fullAt.encoded || s.longest >= maxSharedValue ||
		w.cur.rowLen+w.cur.famLen+r.qualMax+keyOverhead >= maxSharedKey {
		return false
	}
	if !added {
		r.openRow()
	}
	if biggest := int64(w.cur.rowLen+w.cur.famLen+keyOverhead+s.longest) + 12; biggest > w.info.biggest {
		r.noteBiggest(values)
	}
	r.appendFirst(s.first, values[s.first])
	if s.cells > 1 {
		r.appendOthers(s.first, s.last, s.cells-1, s.bytes, values)
	}
	w.cells += s.cells
	w.unencoded += size
	w.info.cells += int64(s.cells)
	w.info.keyBytes += int64(keys)
	w.info.valueBytes += int64(s.bytes)
	r.endRow(s.last)
	return true
}

// noteBiggest finds the first of the row's cells that is larger than all cells before it.
func (r *RowWriter) noteBiggest(values [][]byte) {
	for i, v := range values {
		if v != nil {
			r.noteSize(i, len(v))
		}
	}
}

// noteSize is noteBiggest for one cell of the current row.
func (r *RowWriter) noteSize(column, value int) {
	w := r.writer
	keyLen := w.cur.rowLen + w.cur.famLen + len(r.schema.Qualifiers[column]) + keyOverhead
	if size := int64(keyLen+value) + 12; size > w.info.biggest {
		r.setKey(&w.cur, column)
		w.info.biggest = size
		w.info.biggestKey = append(w.info.biggestKey[:0], w.cur.key...)
	}
}

// appendOthers adds the cells of a row after column first, which has one, up to column last, by templates. cells and bytes are
// upper bounds of the number of cells and the length of their values. Fixed-size copies that overshoot are cheaper than exact
// ones; later writes overwrite the excess.
func (r *RowWriter) appendOthers(first, last, cells, bytes int, values [][]byte) {
	w := r.writer
	n := len(w.block)
	if room := cells*(templateRoom+r.qualMax) + bytes; cap(w.block)-n < room {
		w.block = slices.Grow(w.block, room)
	}
	b := w.block[:cap(w.block)]
	at, length := w.prevAt, w.prevLen
	columns, all := len(values), r.table.all
	before := first
	for i := first + 1; i <= last; i++ {
		value := values[i]
		if value == nil {
			continue
		}
		var t *pairTemplate
		if all != nil {
			if t = &all[before*columns+i]; !t.set {
				r.fill(t, before, i)
			}
		} else {
			t = r.template(before, i)
		}
		before = i
		flag := t.flag
		if len(value) == length {
			flag |= fastSameValueLen
			if string(value) == string(b[at:at+length]) {
				flag |= fastSameValue
			}
		}
		b[n] = flag
		n++
		*(*[5]byte)(b[n:]) = t.keyLen
		n += int(t.keyN)
		if flag&fastSameValueLen == 0 {
			if len(value) < 0x80 {
				b[n] = byte(len(value))
				n++
			} else {
				n += binary.PutUvarint(b[n:], uint64(len(value)))
			}
		}
		if t.long == nil {
			*(*[templateTail]byte)(b[n:]) = t.tail
			n += int(t.tailN)
		} else {
			n += copy(b[n:], t.long)
		}
		if flag&fastSameValue == 0 {
			at, length = n, len(value)
			if len(value) <= shortValue && cap(value) >= shortValue {
				*(*[shortValue]byte)(b[n:]) = *(*[shortValue]byte)(value[:shortValue])
			} else {
				copy(b[n:], value)
			}
			n += len(value)
		}
		*(*[2]byte)(b[n:]) = [2]byte{}
		n += 2
	}
	w.prevAt, w.prevLen = at, length
	w.block = b[:n]
}
