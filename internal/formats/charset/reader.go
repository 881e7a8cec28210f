package charset

import (
	"fmt"
	"io"
)

// A BadBytesError reports bytes that are not a character of a set.
type BadBytesError struct {
	// Charset is the set's name.
	Charset string
	// Offset is the offset of the first such byte in the stream.
	Offset int64
}

func (e *BadBytesError) Error() string {
	return fmt.Sprintf("no character of %s at byte %d", e.Charset, e.Offset)
}

const (
	// readSize is the buffer size of a Reader.
	readSize = 64 << 10
	// headSize is the number of bytes from which a Reader guesses the byte order.
	headSize = 4 << 10
)

// A Reader reads a stream as UTF-8. It is not safe for concurrent use.
type Reader struct {
	from  io.Reader
	set   *Charset
	in    []byte // bytes read and not decoded yet
	at    int64  // offset of in in the stream
	buf   []byte // decoded text; the memory is reused
	out   []byte // the unread part of buf
	begun bool
	ended bool
	err   error // returned after out
}

// NewReader returns a reader of r, which is in the set c, as UTF-8. It is for UTF-16, where no byte is safe, and for callers that have only UTF-8
// parsers. A byte order mark at the start is left out. The order of "utf-16" is that of the mark. A text without a mark is little endian if that gives
// many more ASCII characters in the first 4 KiB than big endian; otherwise it is an error, which names the set to declare. A mark that contradicts
// utf-16le or utf-16be is an error too.
//
// Bytes that are not a character end the stream with a [*BadBytesError], after all the text before them.
func (c *Charset) NewReader(r io.Reader) *Reader {
	return &Reader{from: r, set: c, in: make([]byte, 0, readSize)}
}

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

// fill reads more bytes, and decodes all complete characters.
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
	r.drop(n)
}

// read reads at least least more bytes into in, or up to the end of the stream.
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

// begin skips a mark, and determines the byte order.
func (r *Reader) begin() error {
	order := markOf(r.in)
	if r.set.form != utf16Text {
		if first, n, _ := r.set.decode(nil, r.in, min(1, len(r.in))); string(first) == mark {
			r.drop(n)
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
	r.drop(2)
	return nil
}

func (r *Reader) drop(n int) {
	r.at += int64(n)
	r.in = r.in[:copy(r.in, r.in[n:])]
}
