package source

import (
	"context"
	"errors"
	"fmt"

	"bulkload/internal/formats/swar"
	"bulkload/pkg/source/span"
)

// Reader reads splits, one after the other, into the same buffers. It belongs to one goroutine; every worker has its own.
type Reader struct {
	in    *Input
	quiet bool // bad records are only counted
	again bool // the input was read before
	long  bool // it has the turn of long records

	// The current split.
	ctx     context.Context
	split   int
	file    *inputFile
	emit    func(*Batch) error
	records int64 // good and bad, so far
	before  int64 // records before the split, and the byte since which they were counted; once counted
	since   int64
	counted bool
	sum     uint32

	// The current chunk.
	buf       []byte // the chunk, swar.Block bytes of slack, unquoted values
	off       int64  // the offset of buf[0] in the file
	extra     int    // where unquoted values end in buf
	kept      int    // fields stored
	fields    []Span
	offsets   []int64
	scratch   []Span
	constants []Span
	batch     Batch

	fieldSep, recordSep, comma byte

	strays  strays // of the current file
	textEnd int    // where the text ends in buf, -1 if it continues

	text    textReader             // of the current file, if it is text
	readers map[Format]splitReader // of the formats that were read
}

// NewReader returns a reader of the input's splits. It does no I/O and holds nothing open between two calls of Read.
func (in *Input) NewReader() *Reader {
	r := &Reader{in: in, readers: map[Format]splitReader{}}
	r.fieldSep, r.recordSep = in.opts.dumpSeps()
	r.comma = in.opts.FieldSep.or(',')
	return r
}

// PassOver makes the reader skip bad records silently: the input was read before, and they were given to Reject.
func (r *Reader) PassOver() { r.again = true }

// Read reads the split with the given index and calls emit with its records, batch by batch, in order. An error of emit ends it and is
// returned unchanged. Of errors in the input, a [*RowError] is a record that cannot be used, a [*ChangedError] a file that has changed
// since it was listed; others name the file and place too.
func (r *Reader) Read(ctx context.Context, split int, emit func(*Batch) error) error {
	if !r.in.has(split) {
		return fmt.Errorf("split %d does not exist: the input has %d", split, len(r.in.splits))
	}
	s := r.in.splits[split]
	r.ctx, r.split, r.emit = ctx, split, emit
	r.file = r.in.files[s.File]
	r.records, r.kept, r.offsets, r.counted = 0, 0, r.offsets[:0], false
	r.strays, r.textEnd = r.file.strays(&r.in.opts), -1
	r.sum = r.firstSum(split)
	reader := r.readers[r.file.format]
	if reader == nil {
		reader = r.file.kind.reader(r)
		r.readers[r.file.format] = reader
	}
	r.text, _ = reader.(textReader)
	err := reader.read(s)
	if err == nil {
		err = r.finishSum()
	}
	if err == nil {
		r.in.counts[split].Store(r.records)
	}
	r.emit = nil
	r.endLong(0)
	if len(r.buf) > 8*r.in.opts.ChunkSize {
		r.buf = nil // one long record is not a reason to keep the memory
	}
	if len(r.fields) > 2*max(r.in.opts.ChunkSize, r.file.cols+swar.Block) {
		r.fields = nil
	}
	return err
}

// flush emits the fields before field k, which ends a record at buf[:end], as a batch, or several if there are stray records between them.
func (r *Reader) flush(k, end int) error {
	r.kept = 0
	fields, offsets, cols := r.fields[:k], r.offsets, r.file.cols
	for len(offsets) > 0 {
		rows, reason := r.stray(fields, offsets, end)
		if rows == len(offsets) {
			return r.flushRows(fields, offsets, end)
		}
		from, to := int(offsets[rows]-r.off), end
		if rows+1 < len(offsets) {
			to = int(offsets[rows+1] - r.off)
		}
		to = r.endOf(fields[rows*cols:(rows+1)*cols], from, to)
		if err := r.flushRows(fields[:rows*cols], offsets[:rows], from); err != nil {
			return err
		}
		if err := r.reject(from, to, "", reason); err != nil {
			return err
		}
		fields, offsets = fields[(rows+1)*cols:], offsets[rows+1:]
	}
	r.offsets = r.offsets[:0]
	return nil
}

// flushRows emits the rows at offsets as a batch. The last one ends at buf[:end].
func (r *Reader) flushRows(fields []Span, offsets []int64, end int) error {
	r.offsets = r.offsets[:0]
	if len(offsets) == 0 {
		return nil
	}
	return r.give(fields, offsets, end, Batch{Bytes: r.off + int64(end) - offsets[0], base: r.off, end: end})
}

// give emits the rows at offsets in a batch whose format-specific fields are set, or in several if they have columns that the file lacks, whose values
// are not in its text. Unless it has data, their values are in the buffer up to end, or up to extra if that is more.
func (r *Reader) give(fields []Span, offsets []int64, end int, b Batch) error {
	if len(offsets) == 0 {
		return nil
	}
	cols := len(fields) / len(offsets)
	if r.file.order == nil {
		return r.giveRows(fields, offsets, end, cols, b)
	}
	most, extra := r.mostRows(), r.extra
	for len(offsets) > most {
		first := b.cut(offsets, most, r.text != nil)
		if err := r.giveRows(r.picked(fields[:most*cols], offsets[:most], end), offsets[:most], end, len(r.file.order), first); err != nil {
			return err
		}
		fields, offsets, r.extra = fields[most*cols:], offsets[most:], extra
	}
	return r.giveRows(r.picked(fields, offsets, end), offsets, end, len(r.file.order), b)
}

// giveRows emits the rows at offsets, whose fields are in the order of the schema, in one batch.
func (r *Reader) giveRows(fields []Span, offsets []int64, end, cols int, b Batch) error {
	if b.Data == nil {
		b.Data = r.buf[:max(r.extra, end)]
	}
	b.Rows, b.Cols = len(offsets), cols
	b.Split, b.Path, b.Fields, b.Offsets, b.First, b.reader = r.split, r.file.Path, fields, offsets, r.records+1, r
	r.batch = b
	r.records += int64(b.Rows)
	if r.quiet {
		return nil
	}
	return r.emit(&r.batch)
}

// mostRows returns the number of rows at which a batch ends because of its columns. A batch has at most as many values as a chunk has bytes. Values that
// are in the text keep to that by themselves; columns that the file lacks do not.
func (r *Reader) mostRows() int {
	return max(r.in.opts.ChunkSize/max(r.file.cols, len(r.file.order), 1), 1)
}

// reject handles the bad record buf[start:end].
func (r *Reader) reject(start, end int, column, reason string) error {
	if r.records++; r.again {
		return nil
	}
	stray := ""
	if r.file.facts.cut {
		stray = r.strayReason(start, end, nil)
	}
	if r.quiet && stray != reasonWide {
		return nil
	}
	e := r.rowError(r.off+int64(start), r.records, r.trimEnd(r.buf[start:end]))
	if e.Column, e.Reason = column, reason; stray != "" {
		e.Column, e.Reason = "", stray
	}
	if stray == reasonWide {
		e.Err = errors.New(stray)
		return e.keep()
	}
	if r.in.opts.Reject == nil {
		return e.keep()
	}
	return r.in.opts.Reject(e)
}

// giveNumbered is give for records with consecutive numbers from first.
func (r *Reader) giveNumbered(fields []Span, first int64, rows int, b Batch) error {
	r.offsets = r.offsets[:0]
	for i := range int64(rows) {
		r.offsets = append(r.offsets, first+i)
	}
	return r.give(fields, r.offsets, r.extra, b)
}

// trimEnd removes the end mark of a record, if it is text.
func (r *Reader) trimEnd(record []byte) []byte {
	if r.text == nil {
		return record
	}
	return r.text.trimEnd(record)
}

// growFields makes room for the fields of a block after the first k.
func (r *Reader) growFields(k int) []Span {
	r.growRow(k, swar.Block)
	return r.fields
}

// growBuf makes the buffer at least n bytes long, with slack.
func (r *Reader) growBuf(n int) {
	buf := make([]byte, max(n+2*swar.Block, len(r.buf)+len(r.buf)/2))
	copy(buf, r.buf)
	r.buf = buf
}

// picked returns the fields in the order of the schema. Values of the file's path are stored after the others.
func (r *Reader) picked(fields []Span, offsets []int64, end int) []Span {
	r.scratch = r.scratch[:0]
	at, cols := max(r.extra, end+swar.Block), r.file.cols
	for row := 0; row < len(offsets); {
		constants, rows := r.file.constantsAt(offsets[row:])
		at = r.place(constants, at)
		r.scratch = pick(r.scratch, fields[row*cols:(row+rows)*cols], rows, cols, r.file.order, r.constants)
		row += rows
	}
	return r.scratch
}

// place stores values of a path at a position of the buffer, and returns the position after them.
func (r *Reader) place(constants []Partition, at int) int {
	r.constants = r.constants[:0]
	for _, c := range constants {
		if c.Null {
			r.constants = append(r.constants, span.Null())
			continue
		}
		if at+len(c.Value) > len(r.buf) {
			r.growBuf(at + len(c.Value))
		}
		r.constants = append(r.constants, Span{Off: uint32(at), Len: uint32(copy(r.buf[at:], c.Value))})
		at += len(c.Value)
		r.extra = at
	}
	return at
}
