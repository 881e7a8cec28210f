package export

import (
	"hash"
	"io"

	"bulkload/pkg/hdfsio"
)

// An encoder writes the records of one file. It must be used by one goroutine.
type encoder interface {
	// row adds a record, which it uses only during the call. With an error about a
	// value it returns the number of the column, with any other error −1.
	row(r *row) (column int, err error)
	// close writes remaining data and the end of the file. It does not close the writer.
	close() error
}

// begin creates the encoder of a file. first is true for the first file of all; most is the maximum number of bytes that the encoder may hold.
func (p *Plan) begin(w io.Writer, first bool, most int) (encoder, error) {
	switch p.options.Format {
	case Parquet:
		return newParquetEncoder(w, p.columns, most)
	case JSONL:
		return newJSONEncoder(w, p, most), nil
	default:
		return newTextEncoder(w, p.text, p.columns, first, most)
	}
}

// hasHead reports whether even a file without records has content, such as a header.
func (p *Plan) hasHead() bool {
	return p.options.Format == Parquet || p.text != nil && p.text.header(true)
}

// output counts and checksums the bytes that are written to a file.
type output struct {
	w   hdfsio.Writer
	n   int64
	sum hash.Hash
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.n += int64(n)
	o.sum.Write(b[:n])
	return n, err
}

// buffer collects small pieces of text, and writes large ones.
type buffer struct {
	w    io.Writer
	b    []byte
	most int
}

// bufferSize is the size of a write.
const bufferSize = 256 << 10

func newBuffer(w io.Writer, most int) buffer { return buffer{w: w, most: min(most, bufferSize)} }

// full writes the buffer if it is large enough.
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
