package streaming

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Default bounds of a record, in bytes.
const (
	DefaultMostKey   = 64 << 10
	DefaultMostValue = 64 << 20
)

// readStep is how much memory a length is believed at a time.
const readStep = 1 << 20

// ErrShort is of records that end within one: their writer was killed, or something between lost the rest. All before
// it must not count as the whole.
var ErrShort = errors.New("the records end within one")

// Reader reads records of rawbytes. A clean end between two records says nothing of success: Hadoop closes the input of a
// program in this way when it has failed itself. It belongs to one goroutine.
type Reader struct {
	// MostKey and MostValue bound a record, in bytes. Defaults: DefaultMostKey, DefaultMostValue.
	MostKey, MostValue int

	r          *bufio.Reader
	key, value []byte
	records    int64
	at         int64
	err        error
}

// NewReader reads from r, through a buffer of its own.
func NewReader(r io.Reader) *Reader {
	return &Reader{MostKey: DefaultMostKey, MostValue: DefaultMostValue, r: bufio.NewReaderSize(r, 256<<10)}
}

// Next gives a record, valid until the next call. io.EOF is an end between two records; every other error stays.
func (r *Reader) Next() (key, value []byte, err error) {
	if r.err != nil {
		return nil, nil, r.err
	}
	if r.key, err = r.field(r.key, r.MostKey, "key", true); err == nil {
		r.value, err = r.field(r.value, r.MostValue, "value", false)
	}
	if err != nil {
		r.err = err
		return nil, nil, err
	}
	r.records++
	return r.key, r.value, nil
}

// Records counts those that Next gave.
func (r *Reader) Records() int64 { return r.records }

func (r *Reader) field(buf []byte, most int, what string, first bool) ([]byte, error) {
	begin := r.at
	head, err := r.r.Peek(4)
	if len(head) == 0 && first && err == io.EOF {
		return buf, io.EOF
	}
	if len(head) < 4 {
		return buf, r.broken(err, what, begin)
	}
	n := binary.BigEndian.Uint32(head)
	if int64(n) > int64(most) {
		return buf, fmt.Errorf("record %d at byte %d: a %s of %d bytes, more than %d", r.records+1, begin, what, n, most)
	}
	r.r.Discard(4) // Peek has them.
	r.at += 4
	buf = buf[:0]
	for left := int(n); left > 0; {
		step := min(left, readStep)
		at := len(buf)
		if cap(buf)-at < step {
			// Doubled, so that a long value is copied a few times; no more than has come is believed.
			grown := make([]byte, at, min(max(2*cap(buf), at+step), at+left))
			copy(grown, buf)
			buf = grown
		}
		buf = buf[:at+step]
		got, err := io.ReadFull(r.r, buf[at:])
		r.at += int64(got)
		if err != nil {
			return buf, r.broken(err, what, begin)
		}
		left -= step
	}
	return buf, nil
}

func (r *Reader) broken(err error, what string, begin int64) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = ErrShort
	}
	return fmt.Errorf("record %d, its %s at byte %d: %w", r.records+1, what, begin, err)
}

// Writer writes records of rawbytes. Hadoop takes a torn record at the end for a clean one: only the exit code of the program
// shows that something is missing. It belongs to one goroutine.
type Writer struct {
	w    *bufio.Writer
	head [4]byte
	err  error
}

// NewWriter writes to w, through a buffer of its own: see Flush.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriterSize(w, 256<<10)} }

// Write writes a record. After an error every later call gives it again.
func (w *Writer) Write(key, value []byte) error {
	w.field(key)
	w.field(value)
	return w.err
}

func (w *Writer) field(data []byte) {
	if w.err != nil {
		return
	}
	if len(data) > 1<<31-1 {
		w.err = fmt.Errorf("%d bytes for a key or value, more than Java can hold", len(data))
		return
	}
	binary.BigEndian.PutUint32(w.head[:], uint32(len(data)))
	if _, w.err = w.w.Write(w.head[:]); w.err == nil {
		_, w.err = w.w.Write(data)
	}
}

// Flush writes what is buffered.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}
