package source

import "bulkload/internal/formats/swar"

// longShare is the memory that a record of text takes, as a multiple of the length that its reader expects: the buffer, the former one while it grows, and
// values that are unquoted.
const longShare = 3

// beginLong waits for the turn of a reader that continues a record of up to size bytes, if that takes more than the memory of a reader. Such records are
// read one at a time: with many workers, they would take many times the budget.
func (r *Reader) beginLong(size int) error {
	if r.long || r.quiet || longShare*int64(size) <= r.in.opts.memory() {
		return nil
	}
	select {
	case r.in.long <- struct{}{}:
		r.long = true
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// endLong ends the turn, if the reader has it. It drops the buffers but the first n bytes.
func (r *Reader) endLong(n int) {
	if !r.long {
		return
	}
	buf := make([]byte, n+2*swar.Block)
	copy(buf, r.buf[:n])
	r.buf, r.fields, r.long = buf, nil, false
	<-r.in.long
}
