package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"bulkload/pkg/span"
)

// parquetMeta is what is kept of a file's footer.
type parquetMeta struct {
	groups []int64       // rows of each row group
	types  []columnType  // of each column, in the file's order
	chunks []columnChunk // row group by row group, in the file's order
	memory int64         // about what a reader's buffers come to hold
}

// columnChunk is where the pages of one column in one row group lie.
type columnChunk struct {
	start, end int64
	codec      codec
	unpacked   int64 // bytes, as the footer has it
	dictionary bool
}

// sum is a checksum of the schema, and of where the pages lie.
func (m *parquetMeta) sum(columns []string) uint32 {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for i, t := range m.types {
		fmt.Fprintf(h, "%q %d %d %t %t %d %d;", columns[i], t.kind, t.width, t.bytes, t.optional, t.scale, t.unit)
	}
	fmt.Fprint(h, m.groups)
	for _, c := range m.chunks {
		fmt.Fprint(h, c.start, c.end, c.codec)
	}
	return h.Sum32()
}

// usualPage is what a page of common writers holds: they begin a new one, and give up a dictionary, at 1 MiB.
const usualPage = 1<<20 + 64<<10

// probeParquet reads the footer.
func (f *inputFile) probeParquet(ctx context.Context, o *Options) (err error) {
	if f.compression != "" {
		return fmt.Errorf("%s: a packed Parquet file cannot be read: unpack it first", f.path)
	}
	h, raw, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	footer, err := parquetFooter(raw, f.info.Size())
	if err != nil {
		return fmt.Errorf("%s: it is no Parquet file, or it is truncated or damaged: %w", f.path, err)
	}
	if err := f.parquetSchema(footer, o); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	largest := make([]int64, len(f.columns)) // of a column's buffers
	for g := range footer.RowGroups {
		group := footer.RowGroup(g)
		f.meta.groups = append(f.meta.groups, group.NumRows())
		for c, name := range f.columns {
			chunk, err := f.parquetChunk(group, c)
			if err != nil {
				return fmt.Errorf("%s: row group %d, column %s: %w", f.path, g, name, err)
			}
			f.meta.chunks = append(f.meta.chunks, chunk)
			page, dictionary := chunk.buffers()
			largest[c] = max(largest[c], int64(page+dictionary))
		}
	}
	for _, n := range largest {
		f.meta.memory += n
	}
	f.meta.memory += usualPage // a packed page
	f.headSum = f.meta.sum(f.columns)
	return nil
}

// parquetFooter reads a file's footer. The library that does it trusts what it reads and may panic.
func parquetFooter(raw io.ReaderAt, size int64) (_ *metadata.FileMetaData, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("footer: %v", p)
		}
	}()
	r, err := file.NewParquetReader(io.NewSectionReader(raw, 0, size))
	if err != nil {
		return nil, err
	}
	footer := r.MetaData()
	for g := range footer.RowGroups {
		if n := footer.RowGroup(g).NumRows(); n < 0 {
			return nil, fmt.Errorf("footer: row group %d has %d rows", g, n)
		}
	}
	return footer, nil
}

// parquetSchema takes the columns from the footer.
func (f *inputFile) parquetSchema(footer *metadata.FileMetaData, o *Options) error {
	root := footer.Schema.Root()
	for i := range root.NumFields() {
		field := root.Field(i)
		node, ok := field.(*schema.PrimitiveNode)
		if !ok || field.RepetitionType() == parquet.Repetitions.Repeated {
			return fmt.Errorf("column %s is nested (a list, map or struct): only flat columns can be read", field.Name())
		}
		t, err := typeOf(node, o.Location)
		if err != nil {
			return fmt.Errorf("column %s: %w", field.Name(), err)
		}
		f.columns = append(f.columns, field.Name())
		f.meta.types = append(f.meta.types, t)
	}
	if len(f.columns) == 0 {
		return errors.New("it has no columns")
	}
	return checkNames(f.columns)
}

// parquetChunk takes the place of a column's pages from the footer.
func (f *inputFile) parquetChunk(group *metadata.RowGroupMetaData, c int) (chunk columnChunk, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("footer: %v", p)
		}
	}()
	m, err := group.ColumnChunk(c)
	if err != nil {
		return chunk, err
	}
	chunk = columnChunk{start: m.DataPageOffset(), codec: codec(m.Compression()), unpacked: m.TotalUncompressedSize()}
	if m.HasDictionaryPage() && m.DictionaryPageOffset() > 0 && m.DictionaryPageOffset() < chunk.start {
		chunk.start, chunk.dictionary = m.DictionaryPageOffset(), true
	}
	chunk.end = chunk.start + m.TotalCompressedSize()
	switch {
	case group.NumRows() == 0:
		return chunk, nil // and no pages, which lie nowhere
	case m.FilePath() != "":
		return chunk, fmt.Errorf("its data lie in another file, %s", m.FilePath())
	case m.CryptoMetadata() != nil:
		return chunk, errors.New("it is encrypted")
	case chunk.start < 4 || chunk.end < chunk.start || chunk.end > f.info.Size():
		return chunk, fmt.Errorf("its bytes %d to %d are not within the file", chunk.start, chunk.end)
	case m.NumValues() != group.NumRows():
		return chunk, fmt.Errorf("it has %d values for %d rows", m.NumValues(), group.NumRows())
	}
	return chunk, chunk.codec.check()
}

// buffers is how long a page and a dictionary of the chunk are likely to be.
func (c columnChunk) buffers() (page, dictionary int) {
	page = int(min(max(c.unpacked, 0), usualPage))
	if c.dictionary {
		dictionary = page
	}
	return page, dictionary
}

// batchRows is how many rows of a Parquet file are in one batch: as many as keep their spans in a core's cache.
const batchRows = 1024

// wideBatch is how many rows of so many columns are in a batch: fewer where their spans would take some megabytes.
func wideBatch(cols int) int { return min(max(1<<18/cols, 16), batchRows) }

// parquetReader is the part of a [Reader] that reads Parquet. Its buffers stay from split to split.
type parquetReader struct {
	cols    []columnReader
	arena   arena
	pages   pageSource
	levels  []uint32
	index   []uint32
	scratch []byte
	memory  int64 // bytes that all of this may take
}

// readParquet reads a row group.
func (r *Reader) readParquet(s Split) (err error) {
	h, raw, err := r.file.open(r.ctx)
	if err != nil {
		return err
	}
	p := &r.parquet
	defer func() {
		p.pages.raw = nil
		err = firstError(err, h.Close())
	}()
	p.pages.raw = raw
	p.begin(r.file, s, r.in.opts.memory())
	cols := len(p.cols)
	if p.levels == nil {
		p.levels, p.index = make([]uint32, batchRows), make([]uint32, batchRows)
	}
	most := wideBatch(cols)
	if len(r.fields) < most*cols {
		r.fields = make([]Span, most*cols)
	}
	for row := s.Start; row < s.End; {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n := int(min(s.End-row, int64(most)))
		for i := range p.cols {
			c := &p.cols[i]
			if err := c.load(p); err != nil {
				return r.columnError(s, i, err)
			}
			n = min(n, c.left)
		}
		p.arena.reset()
		for i := range p.cols {
			if err := p.cols[i].take(p, r.fields[i:], cols, n); err != nil {
				return r.columnError(s, i, err)
			}
		}
		if err := r.emitRows(row, n); err != nil {
			return err
		}
		row += int64(n)
	}
	for i := range p.cols {
		r.sum = addSum(r.sum, binary.LittleEndian.AppendUint32(nil, p.cols[i].sum))
	}
	return nil
}

// begin makes the columns ready for a row group.
func (p *parquetReader) begin(f *inputFile, s Split, memory int64) {
	p.memory = memory
	n := len(f.columns)
	if len(p.cols) != n {
		p.cols = make([]columnReader, n)
	}
	for i := range p.cols {
		chunk := f.meta.chunks[s.RowGroup*n+i]
		p.cols[i].begin(i, f.meta.types[i], chunk, s.End-s.Start)
		page, dictionary := chunk.buffers()
		p.arena.want(2*i, page)
		p.arena.want(2*i+1, dictionary)
	}
}

// emitRows gives out the n rows that are in the fields. The first of them is the file's row with the number first.
func (r *Reader) emitRows(first int64, n int) error {
	cols := len(r.parquet.cols)
	for i := range int64(n) {
		r.offsets = append(r.offsets, first+i)
	}
	size := int64(0)
	for _, s := range r.fields[:n*cols] {
		size += int64(s.Len)
	}
	fields := r.fields[:n*cols]
	if order := r.file.order; order != nil {
		if err := r.pathValues(); err != nil {
			return err
		}
		r.scratch = pick(r.scratch[:0], fields, cols, order, r.constants)
		fields, cols = r.scratch, len(order)
	}
	r.batch = Batch{
		Split: r.split, Path: r.file.path, Data: r.parquet.arena.buf, Fields: fields, Offsets: r.offsets,
		Rows: n, Cols: cols, Bytes: size, First: r.records + 1, reader: r,
	}
	r.records += int64(n)
	r.offsets = r.offsets[:0]
	return r.emit(&r.batch)
}

// pathValues puts the values of the file's path behind the batch's other text.
func (r *Reader) pathValues() error {
	r.constants = r.constants[:0]
	a := &r.parquet.arena
	for _, c := range r.file.constants {
		if len(a.buf)+len(c.value) > math.MaxUint32 {
			return errArena
		}
		s := span.Null()
		if !c.null {
			s = Span{Off: uint32(len(a.buf)), Len: uint32(len(c.value))}
		}
		a.buf = append(a.buf, c.value...)
		r.constants = append(r.constants, s)
	}
	return nil
}

func (r *Reader) columnError(s Split, col int, err error) error {
	return fmt.Errorf("%s: row group %d, column %s: %w", r.file.path, s.RowGroup, r.file.columns[col], err)
}
