package hfile

import "bytes"

// Rows are rows on their way into a file: in rising order, of the schema of the [RowWriter] that made them. One goroutine at a time
// adds to them. [RowWriter.AppendRows] takes them.
type Rows struct {
	form     *rowsForm
	rows     []rowView
	sizes    []int   // of each row's cells, unencoded: all that is looked at of most rows to find where blocks end
	lens     []int32 // of each row a length for each column, -1 where it has no cell
	own      []byte  // of rows that were copied
	data     int     // bytes of keys and values
	err      error   // rows out of order
	unshared bool    // some row is beyond the bounds of what is given to helpers

	uses int    // batches with rows of these, and the writer while it cuts them: then they serve again
	done func() // called when they do; nil: not called
}

// rowView is a row that is elsewhere.
type rowView struct {
	key  []byte
	data []byte // its values, one after the other
}

// rowsForm describes what all rows of a file share.
type rowsForm struct {
	quals []int // lengths of qualifiers
	fixed int   // unencoded size of a cell besides row, qualifier and value
	row   int   // the length of a row from which on it is not given to helpers
}

func newRowsForm(o *Options, s *Schema, longest int) *rowsForm {
	f := &rowsForm{fixed: unencodedSize(len(o.Family)+keyOverhead, 0, 0), row: mostSharedKey - len(o.Family) - longest - keyOverhead}
	for _, q := range s.Qualifiers {
		f.quals = append(f.quals, len(q))
	}
	return f
}

// Len returns how many rows there are.
func (b *Rows) Len() int { return len(b.rows) }

// Add adds a row: for each of the schema's qualifiers the length of the value, -1 for a column that has no cell, and the values one
// after the other, and at least one is there. Key and data are kept until the file is finished, or [Rows.WhenDone]; bytes after data, up to its
// capacity, may be read but do not matter.
func (b *Rows) Add(key []byte, lens []int32, data []byte) {
	b.lens = append(b.lens, lens...)
	b.view(key, data, lens)
}

// WhenDone has f called when the writer does not need the keys and data that were added any more, by the goroutine that calls its
// methods. Of rows that end in an error it is not called.
func (b *Rows) WhenDone(f func()) { b.done = f }

// addValues adds a copy of a row.
func (b *Rows) addValues(key []byte, values [][]byte) {
	size := len(key) + shortValue
	for _, v := range values {
		size += len(v)
	}
	if cap(b.own)-len(b.own) < size { // what is there stays where it is
		b.own = make([]byte, 0, max(size, mostRows))
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

// view adds a row whose lengths are there.
func (b *Rows) view(key, data []byte, lens []int32) {
	if n := len(b.rows); n > 0 && b.err == nil && bytes.Compare(b.rows[n-1].key, key) >= 0 {
		b.err = outOfOrder(key, b.rows[n-1].key)
	}
	if len(key) > MaxRowLen && b.err == nil {
		b.err = rowTooLong(key)
	}
	size, longest := 0, int32(0)
	fixed := b.form.fixed + len(key)
	quals := b.form.quals[:len(lens)]
	for i, l := range lens {
		if l >= 0 {
			size += fixed + quals[i] + int(l)
			longest = max(longest, l)
		}
	}
	if longest >= mostSharedValue || len(key) >= b.form.row {
		b.unshared = true
	}
	if data == nil { // all values are empty, and there
		data = []byte{}
	}
	b.data += len(key) + len(data)
	b.rows, b.sizes = append(b.rows, rowView{key: key, data: data}), append(b.sizes, size)
}

// full says that the rows that were copied are enough.
func (b *Rows) full() bool { return b.data >= mostRows/2 }

// values puts the values of a row into dst.
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
	// touchRows is how many rows are brought into the processor's cache at a time.
	touchRows = 32
	// touchBytes of the values of each: processors fetch what follows by themselves.
	touchBytes = 256
)

// touch looks at rows that are encoded next. They are anywhere in memory, and in the cache of the core that has put them here: one after the
// other, each would be waited for.
func (b *Rows) touch(from, to int) (sum byte) {
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

// lastColumn returns the last column of a row that has a cell, before the given one; -1 if none has.
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

// rowsPlace is a cell of some rows, or where the cells of the first row begin.
type rowsPlace struct {
	rows        *Rows
	row, column int
}

// rowsPart is rows of a batch that are in the same place.
type rowsPart struct {
	rows     *Rows
	from, to int
}
