package hfile

import (
	"bytes"
	"cmp"
	"fmt"
)

// Rows holds rows to be added to a file: in rising order, with the schema of the [RowWriter] that created it. One goroutine at a
// time may add rows. [RowWriter.AppendRows] takes ownership.
type Rows struct {
	form     *rowsForm
	rows     []rowView
	sizes    []int   // unencoded size of each row's cells: block ends are found from these sizes, without reading most rows
	lens     []int32 // for each row the length of each column's value, -1 where it has no cell
	own      []byte  // memory of copied rows
	data     int     // bytes of keys and values
	err      error   // of the first row that cannot be added
	unshared bool    // whether a row exceeds the limits for helpers

	uses int    // number of batches with these rows, plus one while the writer cuts them; at 0 they are reused
	done func() // called when uses drops to 0; may be nil
}

// rowView refers to a row in the caller's or in copied memory.
type rowView struct {
	key  []byte
	data []byte // its values, concatenated
}

// rowsForm holds the properties that all rows of a file share.
type rowsForm struct {
	quals []int // lengths of qualifiers
	fixed int   // unencoded size of a cell without row, qualifier and value
	row   int   // rows of this length or longer are not handed to helpers
}

func newRowsForm(o *Options, s *Schema, longest int) *rowsForm {
	f := &rowsForm{fixed: unencodedSize(len(o.Family)+keyOverhead, 0, 0), row: maxSharedKey - len(o.Family) - longest - keyOverhead}
	for _, q := range s.Qualifiers {
		f.quals = append(f.quals, len(q))
	}
	return f
}

// Len returns the number of rows.
func (b *Rows) Len() int { return len(b.rows) }

// Add adds a row with at least one cell: for each of the schema's qualifiers the length of the value, -1 for a column without a cell, and the
// concatenated values. Key and data are kept until the file is finished or the function of [Rows.WhenDone] is called. Bytes after data, up to
// its capacity, may be read but do not matter. A row that does not fit the schema or has no cell is an error of AppendRows.
func (b *Rows) Add(key []byte, lens []int32, data []byte) {
	if len(lens) != len(b.form.quals) {
		b.err = cmp.Or(b.err, fmt.Errorf("row of %d bytes has %d lengths for %d qualifiers", len(key), len(lens), len(b.form.quals)))
		return
	}
	b.lens = append(b.lens, lens...)
	b.view(key, data, lens)
}

// WhenDone sets a function that is called once the writer no longer needs the added keys and data. The goroutine that calls the
// writer's methods calls it. It is not called for rows that AppendRows refuses, and after an error perhaps not for rows that were
// added before.
func (b *Rows) WhenDone(f func()) { b.done = f }

func (b *Rows) addValues(key []byte, values [][]byte) {
	size := len(key) + shortValue
	for _, v := range values {
		size += len(v)
	}
	if cap(b.own)-len(b.own) < size { // earlier rows keep their memory
		b.own = make([]byte, 0, max(size, maxRows))
	}
	at := len(b.own)
	b.own = append(b.own, key...)
	k := b.own[at:]
	at = len(b.own)
	from := len(b.lens)
	room := b.own[:cap(b.own)]
	for _, v := range values {
		if v == nil {
			b.lens = append(b.lens, -1)
			continue
		}
		b.lens = append(b.lens, int32(len(v)))
		n := len(b.own)
		if len(v) <= shortValue && cap(v) >= shortValue {
			*(*[shortValue]byte)(room[n:]) = *(*[shortValue]byte)(v[:shortValue])
		} else {
			copy(room[n:], v)
		}
		b.own = room[:n+len(v)]
	}
	b.view(k, b.own[at:], b.lens[from:])
}

// view adds a row whose lengths are already in b.lens.
func (b *Rows) view(key, data []byte, lens []int32) {
	if n := len(b.rows); n > 0 && b.err == nil && bytes.Compare(b.rows[n-1].key, key) >= 0 {
		b.err = outOfOrder(key, b.rows[n-1].key)
	}
	if len(key) > MaxRowLen && b.err == nil {
		b.err = rowTooLong(key)
	}
	size, values, longest := 0, 0, int32(0)
	fixed := b.form.fixed + len(key)
	quals := b.form.quals[:len(lens)]
	for i, l := range lens {
		if l >= 0 {
			size += fixed + quals[i] + int(l)
			values += int(l)
			longest = max(longest, l)
		}
	}
	switch {
	case b.err != nil:
	case size == 0:
		b.err = fmt.Errorf("row of %d bytes has no cell", len(key))
	case values != len(data):
		b.err = fmt.Errorf("row of %d bytes has %d bytes of values, and its lengths say %d", len(key), len(data), values)
	}
	if longest >= maxSharedValue || len(key) >= b.form.row {
		b.unshared = true
	}
	if data == nil { // all values are empty, and present
		data = []byte{}
	}
	b.data += len(key) + len(data)
	b.rows, b.sizes = append(b.rows, rowView{key: key, data: data}), append(b.sizes, size)
}

// full reports whether enough rows have been copied to cut them into batches.
func (b *Rows) full() bool { return b.data >= maxRows/2 }

// values stores the values of a row in dst.
func (b *Rows) values(row int, dst [][]byte) {
	data := b.rows[row].data
	at := 0
	for i, l := range b.rowLens(row)[:len(dst)] {
		if l < 0 {
			dst[i] = nil
			continue
		}
		dst[i] = data[at : at+int(l)]
		at += int(l)
	}
}

const (
	// touchRows is the number of rows that are prefetched into the processor's cache at a time.
	touchRows = 32
	// touchBytes is the number of bytes prefetched of each row's values: processors prefetch the following bytes themselves.
	touchBytes = 256
)

// prefetch reads the rows that are encoded next. They are scattered over memory, in the cache of the core that wrote them. Without the
// prefetch, the encoder would wait for each row in turn.
func (b *Rows) prefetch(from, to int) (sum byte) {
	for _, r := range b.rows[from:to] {
		if len(r.key) > 0 {
			sum += r.key[0]
		}
		for i := 0; i < min(len(r.data), touchBytes); i += 64 {
			sum += r.data[i]
		}
	}
	return sum
}

func (b *Rows) rowLens(row int) []int32 {
	n := len(b.form.quals)
	return b.lens[row*n : row*n+n]
}

// lastColumn returns the last column before the given one in which a row has a cell; -1 if there is none.
func (b *Rows) lastColumn(row, before int) int {
	lens := b.rowLens(row)
	for i := before - 1; i >= 0; i-- {
		if lens[i] >= 0 {
			return i
		}
	}
	return -1
}

func (b *Rows) reset() {
	clear(b.rows)
	b.rows, b.sizes, b.lens, b.own = b.rows[:0], b.sizes[:0], b.lens[:0], b.own[:0]
	b.data, b.err, b.unshared, b.uses, b.done = 0, nil, false, 0, nil
}

// rowsPlace is the position of a cell: a row and a column.
type rowsPlace struct {
	rows        *Rows
	row, column int
}

// rowsPart is a range of a batch's rows that are in the same Rows.
type rowsPart struct {
	rows     *Rows
	from, to int
}
