package hfile

// Helpers are goroutines that encode rows of a file for who writes it. Any
// goroutine may call the methods.
type Helpers interface {
	// Count is how many there are; 0 may become more, more never become fewer
	// while a file is written.
	Count() int
	// Do has one of them do the work, some time, or gives false.
	Do(work func()) bool
}

// A batch is closed at the end of the block with which it has batchSize bytes
// of unencoded cells: less than a millisecond of work, and some 100 KiB of rows.
const batchSize = 1 << 20

// Rows are given to helpers only while an encoded cell takes no more bytes than
// an unencoded one: then a block ends where the sum of the unencoded sizes says,
// and it can be seen without encoding where rows may be cut. FAST_DIFF stores up
// to ten bytes beside key and value if their lengths are below these bounds, and
// eleven count. They bound what a batch takes, too.
const (
	mostSharedKey   = 1 << 14
	mostSharedValue = 256 << 10
	mostSharedBlock = 1 << 20
)

// sharing is what a [RowWriter] has given away.
type sharing struct {
	batch   *rowBatch   // that is filled; nil while rows are encoded at once
	open    int         // unencoded size of the cells since the last end of a block
	pending []*rowBatch // in the order of the file

	batchSize int
	encoders  *encoders
	spare     []*rowBatch
}

// Share lets helpers encode rows, as soon as there are some. The file is the
// same byte for byte. Each helper adds up to two batches of rows and blocks, of
// some 200 KiB each, to what the writer holds; of large values up to 5 MiB. Settings that have no
// fast path have no help either, nor have rows with long keys or values.
func (r *RowWriter) Share(h Helpers) {
	if o := &r.w.o; !r.general && o.EncodedRatio == 0 && o.BlockSize <= mostSharedBlock {
		r.helpers, r.batchSize = h, batchSize
		r.encoders = &encoders{o: *o, s: r.s, tail: r.tail, qualMax: r.qualMax, block: cap(r.w.block)}
	}
}

// sharable says whether a row's cells are within the bounds, and how many bytes key and values have.
func (r *RowWriter) sharable(row []byte, values [][]byte) (size int, cells, ok bool) {
	longest := -1
	for _, v := range values {
		if v != nil {
			longest = max(longest, len(v))
			size += len(v)
		}
	}
	return size + len(row), longest >= 0, longest < mostSharedValue && len(row)+len(r.w.o.Family)+r.qualMax+keyOverhead < mostSharedKey
}

// share begins to give rows away, if there are helpers: from a column of a row
// on, behind which a block has just ended. last is the column before, -1 for none.
func (r *RowWriter) share(row []byte, values [][]byte, column, last int) bool {
	if r.helpers.Count() == 0 {
		return false
	}
	size, _, ok := r.sharable(row, values)
	if !ok {
		return false
	}
	r.beginBatch(last)
	r.open = 0
	r.batchRow(row, values, size, column, last, true)
	return true
}

// shareRow puts a row into the batch.
func (r *RowWriter) shareRow(row []byte, values [][]byte) {
	size, cells, ok := r.sharable(row, values)
	if !cells {
		return
	}
	if !ok {
		r.settle()
		r.appendRow(row, values, false)
		return
	}
	r.startRow(row)
	r.batchRow(row, values, size, 0, -1, false)
}

// batchRow puts the cells of the row in hand from a column on into the batch,
// which is cut where a block ends. Key and values have that many bytes.
func (r *RowWriter) batchRow(row []byte, values [][]byte, room, column, last int, added bool) {
	w := r.w
	b := r.batch
	lens := b.add(row, added, room)
	data, n := b.data[:cap(b.data)], len(b.data)
	fixed := unencodedSize(len(row)+len(w.o.Family)+keyOverhead, 0, 0)
	for i := column; i < len(values); i++ {
		v := values[i]
		if v == nil {
			continue
		}
		if r.open >= w.o.BlockSize {
			r.open = 0
			if b.size >= r.batchSize {
				b.data = data[:n]
				r.beginBatch(last)
				r.submit(b)
				b = r.batch
				lens = b.add(row, true, room)
				data, n = b.data[:cap(b.data)], len(b.data)
			}
		}
		size := fixed + len(r.s.Qualifiers[i]) + len(v)
		r.open += size
		b.size += size
		lens[i] = int32(len(v))
		if len(v) <= shortValue && cap(v) >= shortValue {
			*(*[shortValue]byte)(data[n:]) = *(*[shortValue]byte)(v[:shortValue])
		} else {
			copy(data[n:], v)
		}
		n += len(v)
		last = i
	}
	b.data = data[:n]
	r.endRow(last)
}

// beginBatch begins a batch behind a column of the row in hand, or, if that is
// -1, behind the row before.
func (r *RowWriter) beginBatch(last int) {
	if n := len(r.spare); n > 0 {
		r.batch, r.spare = r.spare[n-1], r.spare[:n-1]
		r.batch.reset()
	} else {
		r.batch = &rowBatch{encoders: r.encoders, values: make([][]byte, len(r.s.Qualifiers)), done: make(chan struct{}, 1)}
	}
	if last >= 0 {
		r.setLeft(&r.batch.left, last)
	} else {
		r.batch.left.setFlat(&r.w.prev)
	}
}

// submit has a batch encoded, by this goroutine if no other takes it, and adds
// what is done to the file.
func (r *RowWriter) submit(b *rowBatch) {
	r.pending = append(r.pending, b)
	if !r.helpers.Do(b.encode) {
		b.encode()
	}
	r.collect(2*r.helpers.Count() + 2)
}

// collect adds batches to the file, in their order, until the next one is not
// done and no more than most are pending.
func (r *RowWriter) collect(most int) {
	n := 0
	for _, b := range r.pending {
		if len(r.pending)-n > most {
			<-b.done
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

// addBatch appends the blocks of a batch to the file, and gives its room back.
func (r *RowWriter) addBatch(b *rowBatch) {
	w := r.w
	if w.blocks.err == nil {
		w.blocks.err = b.err
	}
	out, key, hashes := 0, 0, 0
	rows := b.rows
	for _, k := range b.blocks {
		for ; hashes < k.hashes; hashes += 2 {
			for rows[0].added {
				rows = rows[1:]
			}
			w.bloom.addHashed(r.bloomKey(b.data[rows[0].at:rows[0].at+rows[0].key]), b.hashes[hashes], b.hashes[hashes+1])
			rows = rows[1:]
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
	r.spare = append(r.spare, b)
}

// settle takes all back: what is pending is added to the file, and the rows of
// the open batch are encoded here. No more is given away.
func (r *RowWriter) settle() {
	r.collect(0)
	b := r.batch
	r.batch, r.helpers = nil, nil
	r.w.prev.setFlat(&b.left)
	for i := range b.rows {
		key, values, _ := b.row(i)
		r.appendRow(key, values, b.rows[i].added)
	}
}
