package hfile

// pairTemplate holds the bytes of a FAST_DIFF cell that precede its value, except
// the value's length, when the cell follows a given column in the same row.
type pairTemplate struct {
	set    bool
	flag   byte // without the bits about the value
	keyLen [5]byte
	keyN   uint8
	tailN  uint8
	tail   [templateTail]byte // shared prefix, rest of the qualifier, last byte of the timestamp
	long   []byte             // the tail if it is longer
}

const templateTail = 32

// shortValue is the maximum length of a value that is copied with a fixed-size
// copy, provided that its slice has enough capacity.
const shortValue = 32

// templateRoom is an upper bound on the size of a cell whose tail and value are
// both short.
const templateRoom = 1 + 5 + 10 + templateTail + shortValue + 2

// pairTable holds the templates for one row length.
type pairTable struct {
	all   []pairTemplate // indexed by previous column × columns + column, if there are few columns
	after []pairTemplate // for a column whose previous cell is that of the column before it
}

func (r *RowWriter) chooseTable(rowLen int) {
	t := r.tables[rowLen]
	if t == nil {
		if len(r.tables) >= maxTables {
			clear(r.tables)
		}
		t = new(pairTable)
		if n := len(r.schema.Qualifiers); n <= maxPairColumns {
			t.all = make([]pairTemplate, n*n)
		} else {
			t.after = make([]pairTemplate, n)
		}
		r.tables[rowLen] = t
	}
	r.table, r.tableOf = t, rowLen
}

// template returns the template for column after last, filling it on first use.
func (r *RowWriter) template(last, column int) *pairTemplate {
	t := &r.scratch
	switch {
	case r.table.all != nil:
		t = &r.table.all[last*len(r.schema.Qualifiers)+column]
	case column == last+1:
		t = &r.table.after[column]
	default:
		t.set = false
	}
	if !t.set {
		r.fill(t, last, column)
	}
	return t
}

func (r *RowWriter) fill(t *pairTemplate, last, column int) {
	a, b := r.schema.Qualifiers[last], r.schema.Qualifiers[column]
	head := 3 + r.writer.cur.rowLen + r.writer.cur.famLen
	same := commonPrefix(a, b)
	*t = pairTemplate{set: true, flag: fastTimestampMask | fastSameType}
	if len(a) == len(b) {
		t.flag |= fastSameKeyLen
	} else {
		t.keyN = uint8(len(appendLEB(t.keyLen[:0], head+len(b)+9)))
	}
	tail := appendLEB(t.tail[:0], head+same)
	tail = append(tail, b[same:]...)
	tail = append(tail, r.tail[7])
	if len(tail) <= templateTail {
		t.tailN = uint8(len(tail))
	} else {
		t.long = tail
	}
}
