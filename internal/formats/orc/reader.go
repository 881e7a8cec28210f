package orc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"bulkload/internal/formats/parquet"
	"bulkload/pkg/source/span"
)

// A Reader reads stripes, one after the other, into the same buffers. It must be used by one goroutine at a time.
type Reader struct {
	source
	file     *File
	number   int // of the current stripe
	stripe   *stripeFooter
	maxText  int
	rules    textRules
	cols     []flat
	nested   []nestedColumn
	writer   nestedWriter
	streams  []*stream // those of the current stripe come first, in the order of the columns
	used     int
	buf      []byte // the values that are the same in all rows of a stripe, then the texts of the rows read last
	base     int    // where the texts of the rows begin
	borrowed int64  // bytes claimed for the stripe
}

// maxBuffer is the highest offset of a span.
const maxBuffer = math.MaxUint32 - 1<<28

var errBuffer = errors.New("the values of some rows are larger than 4 GiB together")

// NewReader returns a reader. A nested value may have at most maxText bytes as JSON.
func NewReader(limit parquet.Limit, maxText int) *Reader {
	return &Reader{source: source{limit: limit}, maxText: maxText}
}

// Begin moves the reader to the first row of a stripe. fields holds the rows of a batch; Begin sets the columns that the file lacks to null in it.
func (p *Reader) Begin(m *File, raw io.ReaderAt, group int, fields []span.Span) error {
	p.file, p.number, p.raw, p.codec, p.block = m, group, raw, m.codec, m.block
	p.rules = textRules{m.zone, m.calendar, min(p.limit.Bytes, maxBuffer)}
	p.held -= p.borrowed
	p.borrowed, p.used = 0, 0
	if err := p.begin(); err != nil {
		return fmt.Errorf("stripe %d: %w", group, err)
	}
	m.same.SetNull(fields, m.width)
	return nil
}

func (p *Reader) begin() (err error) {
	m := p.file
	s := m.stripes[p.number]
	if p.stripe, err = readStripe(&p.source, s); err != nil {
		return err
	}
	p.buf = append(p.buf[:0], m.same.Text...)
	if len(p.cols) != len(m.columns) {
		p.cols = make([]flat, len(m.columns))
	}
	for i, place := range m.columns {
		c := &p.cols[i]
		c.at, c.name, c.rows, c.row, c.n = place.at, place.name, s.rows, 0, 0
		if c.column, c.above, err = p.path(place); err != nil {
			return err
		}
	}
	p.nested = p.nested[:0]
	for _, place := range m.nested {
		c := nestedColumn{at: place.at, name: place.name}
		if c.column, c.above, err = p.path(place); err != nil {
			return err
		}
		p.nested = append(p.nested, c)
	}
	p.base = len(p.buf)
	return nil
}

// path opens the column of a place, and the streams that record whether its enclosing structs and its value are present.
func (p *Reader) path(c place) (_ *column, above []*flags, err error) {
	for _, n := range c.path[:len(c.path)-1] {
		if key := (streamKey{uint64(n.id), streamPresent}); p.stripe.streams[key] != (extent{}) {
			above = append(above, &flags{octets: octets{stream: p.stream(key)}})
		}
	}
	column, err := p.open(c.node())
	if err != nil {
		return nil, nil, fmt.Errorf("column %s: %w", c.name, err)
	}
	if column.present != nil {
		above = append(above, column.present)
	}
	return column, above, nil
}

// stream opens a stream of the stripe. A stream that the stripe lacks is empty.
func (p *Reader) stream(key streamKey) *stream {
	if p.used == len(p.streams) {
		p.streams = append(p.streams, &stream{})
	}
	s := p.streams[p.used]
	p.used++
	s.begin(&p.source, p.stripe.streams[key])
	return s
}

// Rows reads at most n rows into fields and returns their number. Their values are in [Reader.Data].
func (p *Reader) Rows(fields []span.Span, n int) (_ int, err error) {
	cols := p.file.width
	for i := range p.cols {
		c := &p.cols[i]
		if err := c.load(); err != nil {
			return 0, p.failed(c.name, err)
		}
		n = c.fits(min(n, c.n-c.row), batchText)
	}
	p.buf = p.buf[:p.base]
	if len(p.nested) > 0 {
		if n, err = p.rows(fields, n); err != nil {
			return 0, err
		}
	}
	for i := range p.cols {
		c := &p.cols[i]
		if p.buf, err = c.take(p.buf, fields[c.at:], cols, n); err != nil {
			return 0, p.failed(c.name, err)
		}
		if len(p.buf) > maxBuffer {
			return 0, p.failed(c.name, errBuffer)
		}
	}
	p.file.same.SetFixed(fields, cols, n, 0)
	return n, nil
}

// rows reads the nested columns of the next n rows, or of fewer rows if their text is long.
func (p *Reader) rows(fields []span.Span, n int) (int, error) {
	most := int(min(int64(p.maxText), p.rules.most))
	for row := range n {
		for i := range p.nested {
			c := &p.nested[i]
			s := span.Null()
			there, err := c.isPresent()
			if err == nil && there {
				p.writer.most = len(p.buf) + most
				s, p.buf, err = p.writer.top(p.buf, c.column)
			}
			if err == nil && len(p.buf) > maxBuffer {
				err = errBuffer
			}
			if err != nil {
				return 0, p.failed(c.name, err)
			}
			fields[row*p.file.width+c.at] = s
		}
		if len(p.buf)-p.base >= batchText {
			return row + 1, nil
		}
	}
	return n, nil
}

// Data returns the values of the rows read last.
func (p *Reader) Data() []byte { return p.buf }

// Finish appends the checksum of the bytes read of each stream of the stripe.
func (p *Reader) Finish(sums []byte) ([]byte, error) {
	for _, s := range p.streams[:p.used] {
		sums = binary.LittleEndian.AppendUint32(sums, s.sum)
	}
	return sums, nil
}

// Release drops the reference to the file.
func (p *Reader) Release() { p.raw = nil }

func (p *Reader) failed(column string, err error) error {
	return fmt.Errorf("stripe %d, column %s: %w", p.number, column, err)
}
