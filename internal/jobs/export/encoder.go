package export

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"bulkload/pkg/hdfsio"
)

// An encoder writes the records of one file. It is for one goroutine.
type encoder interface {
	// row adds a record, which is used within the call. An error about a value has
	// the number of its column; that of a failed write has −1.
	row(r *row) (column int, err error)
	// close writes what is left, and what stands at the end of a file. The writer is the caller's.
	close() error
}

// begin makes the encoder of a file. first says that it is the first of all; most is how many bytes it may hold.
func (p *Plan) begin(w io.Writer, first bool, most int) (encoder, error) {
	switch p.o.Format {
	case Parquet:
		return newParquetEncoder(w, p.columns, most)
	case JSONL:
		return newJSONEncoder(w, p, most), nil
	default:
		return newTextEncoder(w, p.text, p.columns, first, most)
	}
}

// hasHead says that a file without records is not an empty one.
func (p *Plan) hasHead() bool { return p.o.Format == Parquet || p.text != nil && p.text.header(true) }

// output counts and sums what is written to a file.
type output struct {
	w   hdfsio.Writer
	n   int64
	sum hash.Hash
}

func newOutput(w hdfsio.Writer) *output { return &output{w: w, sum: sha256.New()} }

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.n += int64(n)
	o.sum.Write(b[:n])
	return n, err
}

func (o *output) digest() string { return fmt.Sprintf("%x", o.sum.Sum(nil)) }

// buffer collects small pieces of text, and writes large ones.
type buffer struct {
	w    io.Writer
	b    []byte
	most int
}

// bufferSize is the number of bytes that are written at a time.
const bufferSize = 256 << 10

func newBuffer(w io.Writer, most int) buffer { return buffer{w: w, most: min(most, bufferSize)} }

// full writes what has come together, if it is enough.
func (b *buffer) full() error {
	if len(b.b) < b.most {
		return nil
	}
	return b.flush()
}

func (b *buffer) flush() error {
	_, err := b.w.Write(b.b)
	b.b = b.b[:0]
	return err
}
