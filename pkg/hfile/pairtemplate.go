package hfile

// pairTemplate is all of a FAST_DIFF cell that precedes its value, but for
// the value's length, when it follows a given column in the same row.
type pairTemplate struct {
	set    bool
	flag   byte // without the value's bits
	keyLen [5]byte
	keyN   uint8
	tailN  uint8
	tail   [templateTail]byte // shared prefix, qualifier's rest, last byte of the timestamp
	long   []byte             // the tail if it is longer
}

const templateTail = 32

// shortValue is the length up to which a value is copied by an overshooting
// copy, if its slice has the room after it.
const shortValue = 32

// templateRoom bounds what a cell takes in a block besides tail and value.
const templateRoom = 1 + 5 + 10 + templateTail + shortValue + 2

// pairTable holds the templates for one row length.
type pairTable struct {
	all   []pairTemplate // column before × columns + column, if there are few columns
	after []pairTemplate // for a column after its neighbour
}

func (r *RowWriter) chooseTable(rowLen int) {
	t := r.tables[rowLen]
	if t == nil {
		if len(r.tables) >= maxTables {
			clear(r.tables)
		}
		t = new(pairTable)
		if n := len(r.s.Qualifiers); n <= maxPairColumns {
			t.all = make([]pairTemplate, n*n)
		} else {
			t.after = make([]pairTemplate, n)
		}
		r.tables[rowLen] = t
	}
	r.table, r.tableOf = t, rowLen
}

// template finds or makes the template for column after last.
func (r *RowWriter) template(last, column int) *pairTemplate {
	t := &r.scratch
	switch {
	case r.table.all != nil:
		t = &r.table.all[last*len(r.s.Qualifiers)+column]
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
	a, b := r.s.Qualifiers[last], r.s.Qualifiers[column]
	head := 3 + r.w.cur.rowLen + r.w.cur.famLen
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
