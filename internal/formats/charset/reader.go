package charset

import (
	"fmt"
	"io"
)

// A BadBytesError is about bytes that are no character of a set.
type BadBytesError struct {
	// Charset is the set's name.
	Charset string
	// Offset is the place of the first such byte in the stream.
	Offset int64
}

func (e *BadBytesError) Error() string {
	return fmt.Sprintf("no character of %s at byte %d", e.Charset, e.Offset)
}

const (
	// readSize is how much a Reader asks for at once.
	readSize = 64 << 10
	// headSize is how much it looks at for the order of bytes.
	headSize = 4 << 10
)

// A Reader reads a stream as UTF-8. It is not for several goroutines.
type Reader struct {
	from  io.Reader
	set   *Charset
	in    []byte // what is read and not decoded yet
	at    int64  // the place in the stream of in's start
	buf   []byte // what is decoded, over and over in the same memory
	out   []byte // what of buf is still unread
	begun bool
	ended bool
	err   error // what comes after out
}

// NewReader reads r, which is in the set c, as UTF-8. It is for UTF-16, where no
// byte is safe, and for callers that have only UTF-8 parsers. A byte order mark at
// the start is left out. "utf-16" takes its order from the mark; without one it
// is little endian if many more ASCII characters of the first 4 KiB are so than
// the other way around, otherwise an error that says what to declare. A mark of
// the other order than utf-16le's or utf-16be's is an error as well.
//
// Bytes that are no character give a [*BadBytesError], after all the text that
// precedes them; nothing can be read after it.
func (c *Charset) NewReader(r io.Reader) *Reader {
	return &Reader{from: r, set: c, in: make([]byte, 0, readSize)}
}

// Read is io.Reader's.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// fill reads on, and decodes all characters that are there as a whole.
func (r *Reader) fill() {
	least := 1
	if !r.begun {
		least = headSize
	}
	r.read(least)
	if !r.begun {
		r.begun = true
		if err := r.begin(); err != nil {
			r.err = err
			return
		}
	}
	end := len(r.in) - Ahead
	if r.ended {
		end = len(r.in)
	}
	if end <= 0 {
		return
	}
	out, n, bad := r.set.decode(r.buf[:0], r.in, end)
	if bad >= 0 {
		r.err = &BadBytesError{r.set.name, r.at + int64(bad)}
		out, n, _ = r.set.decode(out[:0], r.in[:bad], bad)
	}
	r.buf, r.out = out, out
	r.pass(n)
}

// read reads until in has least bytes more than before, or the stream ends.
func (r *Reader) read(least int) {
	for empty := 0; least > 0 && r.err == nil; {
		n, err := r.from.Read(r.in[len(r.in):cap(r.in)])
		r.in = r.in[:len(r.in)+n]
		least -= n
		if err != nil {
			r.err, r.ended = err, err == io.EOF
		}
		if n > 0 {
			empty = 0
		} else if empty++; empty == 100 && r.err == nil {
			r.err = io.ErrNoProgress
		}
	}
}

// begin passes over a mark, and finds the order of bytes.
func (r *Reader) begin() error {
	order := markOf(r.in)
	if r.set.form != utf16Text {
		if first, n, _ := r.set.decode(nil, r.in, min(1, len(r.in))); string(first) == mark {
			r.pass(n)
		}
		return nil
	}
	switch {
	case r.set.order == nil && order == nil:
		set, err := guessOrder(r.in)
		if set != nil {
			r.set = set
		}
		return err
	case order == nil:
		return nil
	case r.set.order == nil:
		r.set = ordered(order)
	case r.set.order != order:
		return fmt.Errorf("the byte order mark says %s, not %s", ordered(order).name, r.set.name)
	}
	r.pass(2)
	return nil
}

// pass passes over the next n bytes.
func (r *Reader) pass(n int) {
	r.at += int64(n)
	r.in = r.in[:copy(r.in, r.in[n:])]
}
