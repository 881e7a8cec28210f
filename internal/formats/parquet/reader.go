package parquet

import (
	"encoding/binary"
	"fmt"
	"io"

	"bulkload/pkg/source/span"
)

// MaxRows is the largest number of rows of a batch. Their spans fit in a core's cache.
const MaxRows = 1024

// pageReader holds the arena for the pages of columns, and the buffers for reading them.
type pageReader struct {
	arena   arena
	pages   *pageSource
	levels  []uint32
	index   []uint32
	scratch []byte
	limit   Limit // of all arenas of the reader
}

// A Reader reads row groups, one after the other, into the same buffers. Only one goroutine may use it.
type Reader struct {
	pageReader
	file    *File
	group   int
	maxText int
	cols    []columnReader // the flat columns
	nested  nestedReader
	total   int64 // bytes of all arenas
}

// NewReader returns a reader. A nested value has at most maxText bytes as JSON.
func NewReader(limit Limit, maxText int) *Reader {
	p := &Reader{maxText: maxText}
	p.pages, p.limit = &pageSource{}, limit
	p.levels, p.index = make([]uint32, MaxRows), make([]uint32, MaxRows)
	p.arena.all = &p.total
	return p
}

// Begin prepares to read a row group from its first row. fields holds the rows of a batch; Begin sets the NULL columns in it, so every
// call of [Reader.Rows] must get the same fields.
func (p *Reader) Begin(m *File, raw io.ReaderAt, group int, fields []span.Span) error {
	p.file, p.group, p.pages.raw = m, group, raw
	if err := p.begin(); err != nil {
		return fmt.Errorf("row group %d: %w", group, err)
	}
	m.same.SetNull(fields, m.width)
	return nil
}

// begin prepares the columns for a row group. The last region of the arena is for the values that are the same in all rows.
func (p *Reader) begin() error {
	m := p.file
	if len(p.cols) != m.flat {
		p.cols = make([]columnReader, m.flat)
	}
	chunks := m.chunks[p.group*len(m.leaves):]
	for i := range p.cols {
		p.cols[i].begin(i, m.leaves[i].typ, chunks[i])
		page, dictionary := chunks[i].buffers()
		p.arena.want(2*i, page)
		p.arena.want(2*i+1, dictionary)
	}
	p.nested.begin(p, m, chunks[m.flat:len(m.leaves)])
	region := 2 * m.flat
	if err := p.arena.reserve(region, len(m.same.Text)); err != nil {
		return err
	}
	copy(p.region(region), m.same.Text)
	return nil
}

// Rows reads the next rows, at most n, into the fields, and returns their number. Their values are in [Reader.Data].
func (p *Reader) Rows(fields []span.Span, n int) (int, error) {
	cols := p.file.width
	for i := range p.cols {
		c := &p.cols[i]
		if err := c.load(&p.pageReader); err != nil {
			return 0, p.columnError(i, err)
		}
		n = min(n, c.left)
	}
	p.arena.reset()
	if len(p.file.nested) > 0 {
		var err error
		if p.arena.buf, n, err = p.nested.rows(p.arena.buf, fields, cols, n); err != nil {
			return 0, fmt.Errorf("row group %d, %w", p.group, err)
		}
	}
	for i := range p.cols {
		if err := p.cols[i].take(&p.pageReader, fields[p.file.leaves[i].place:], cols, n); err != nil {
			return 0, p.columnError(i, err)
		}
	}
	p.file.same.SetFixed(fields, cols, n, p.arena.regions[2*len(p.cols)].off)
	return n, nil
}

// Data returns the memory of the values of the rows that were read last.
func (p *Reader) Data() []byte { return p.arena.buf }

// Finish checks that nested columns have no values after the last row of the row group, and appends a checksum of each column's pages.
func (p *Reader) Finish(sums []byte) ([]byte, error) {
	if err := p.nested.finish(); err != nil {
		return nil, fmt.Errorf("row group %d, %w", p.group, err)
	}
	for i := range p.cols {
		sums = binary.LittleEndian.AppendUint32(sums, p.cols[i].sum)
	}
	for i := range p.nested.leaves {
		sums = binary.LittleEndian.AppendUint32(sums, p.nested.leaves[i].col.sum)
	}
	return sums, nil
}

// Release drops the reference to the file.
func (p *Reader) Release() { p.pages.raw = nil }

func (p *Reader) columnError(col int, err error) error {
	return fmt.Errorf("row group %d, column %s: %w", p.group, p.file.leaves[col].name, err)
}
