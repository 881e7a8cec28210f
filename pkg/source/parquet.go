package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/source/span"
)

// mostFooter bounds a footer where the memory does not.
const mostFooter = 1 << 30

// parquetFormat is Parquet.
type parquetFormat struct{}

func (parquetFormat) facts() facts {
	return facts{Traits: Traits{Named: true, Rows: true}, name: FormatParquet, endings: []string{".parquet", ".parq", ".pq"},
		magic: []string{magicParquet, parquetEncrypted}, binary: true, values: true}
}

func (parquetFormat) check(*Options) error { return nil }

func (parquetFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	m := &parquetFile{f: f}
	return m, m.probe(ctx, o)
}

// memory is twice what the buffers hold: while an arena grows there are two.
func (m *parquetFile) memory(*Options) int64 { return 2 * m.holds }

func (m *parquetFile) splits(_ context.Context, _ *Options, add func(start, end int64, group int)) error {
	row := int64(0)
	for g, rows := range m.groups {
		if rows > 0 {
			add(row, row+rows, g)
		}
		row += rows
	}
	return nil
}

// leads reports whether a path leads to what can be a column.
func (m *parquetFile) leads(path string) bool {
	n := m.tree.find(path)
	return n != nil && n.leaf() && n.rep == 0
}

// probe reads the footer.
func (m *parquetFile) probe(ctx context.Context, o *Options) (err error) {
	f := m.f
	if f.compression != "" {
		return fmt.Errorf("%s: a packed Parquet file cannot be read: unpack it first", f.path)
	}
	h, raw, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	footer, err := readFooter(raw, f.info.Size(), min(o.memory(), mostFooter))
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	for i := range footer.groups {
		m.groups = append(m.groups, footer.groups[i].rows)
	}
	tree, err := footer.tree()
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, damagedFooter("%w", err))
	}
	m.footer, m.tree, f.columns = footer, tree, tree.names()
	m.rules.calendars = valuetext.ParquetCalendars(footer.meta, tree.name)
	if strings.Contains(footer.meta["org.apache.spark.sql.parquet.row.metadata"], `"variant"`) {
		tree.markVariants()
	}
	footer.meta = nil // a schema may be in it, and files many
	if len(f.columns) == 0 {
		return fmt.Errorf("%s: it has no columns", f.path)
	}
	if len(o.Columns) == 0 {
		if err := m.texts(o); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if err := checkNames(f.columns); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// texts leaves out columns whose type has no text, or refuses them.
func (m *parquetFile) texts(o *Options) error {
	f := m.f
	f.columns = f.columns[:0]
	for _, n := range m.tree.kids {
		_, err := shapeOf(n, &m.rules, func(*schemaNode, columnType) int { return 0 })
		switch {
		case err == nil:
			f.columns = append(f.columns, n.name)
		case o.passesTextless():
			f.others = append(f.others, n.name)
		default:
			return textless(fmt.Errorf("column %s: %w", nameText(n.name), err))
		}
	}
	if len(f.columns) == 0 {
		return errors.New("it has no columns that can be text")
	}
	return nil
}

// batchRows is how many rows of a Parquet file are in one batch: as many as keep their spans in a core's cache.
const batchRows = 1024

// wideBatch is how many rows of so many columns are in a batch: fewer where their spans would take some megabytes.
func wideBatch(cols int) int { return min(max((1<<18)/cols, 16), batchRows) }

// pageReader is where columns read their pages to, and what they need for that.
type pageReader struct {
	arena   arena
	pages   *pageSource
	levels  []uint32
	index   []uint32
	scratch []byte
	memory  int64 // bytes that the arenas of the reader may take
}

// parquetReader reads row groups.
type parquetReader struct {
	pageReader
	r      *Reader
	file   *parquetFile
	cols   []columnReader // the flat columns
	nested nestedReader
	total  int64 // bytes of all arenas
	fixed  []Span
}

func (parquetFormat) reader(r *Reader) splitReader {
	p := &parquetReader{r: r}
	p.pages = &pageSource{}
	p.levels, p.index = make([]uint32, batchRows), make([]uint32, batchRows)
	p.arena.all = &p.total
	return p
}

// read reads a row group.
func (p *parquetReader) read(s Split) (err error) {
	r := p.r
	p.file = r.file.content.(*parquetFile)
	h, raw, err := r.file.open(r.ctx)
	if err != nil {
		return err
	}
	defer func() {
		p.pages.raw = nil
		err = firstError(err, h.Close())
	}()
	p.pages.raw = raw
	cols := len(r.in.columns)
	most := wideBatch(cols)
	if len(r.fields) < most*cols {
		r.fields = make([]Span, most*cols)
	}
	if err := p.begin(s, &r.in.opts); err != nil {
		return fmt.Errorf("%s: row group %d: %w", r.file.path, s.RowGroup, err)
	}
	for _, place := range p.file.null {
		for at := place; at < most*cols; at += cols {
			r.fields[at] = span.Null() // and nothing changes it
		}
	}
	for row := s.Start; row < s.End; {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n, err := p.rows(s, cols, int(min(s.End-row, int64(most))))
		if err != nil {
			return err
		}
		if err := p.emit(row, n, cols); err != nil {
			return err
		}
		row += int64(n)
	}
	if err := p.nested.finish(); err != nil {
		return fmt.Errorf("%s: row group %d, %w", r.file.path, s.RowGroup, err)
	}
	for i := range p.cols {
		r.sum = addSum(r.sum, binary.LittleEndian.AppendUint32(nil, p.cols[i].sum))
	}
	for _, l := range p.nested.leaves {
		r.sum = addSum(r.sum, binary.LittleEndian.AppendUint32(nil, l.col.sum))
	}
	return nil
}

// rows reads the next rows, at most n, into the fields, and says how many.
func (p *parquetReader) rows(s Split, cols, n int) (int, error) {
	r := p.r
	for i := range p.cols {
		c := &p.cols[i]
		if err := c.load(&p.pageReader); err != nil {
			return 0, p.columnError(s, i, err)
		}
		n = min(n, c.left)
	}
	p.arena.reset()
	if len(p.file.nested) > 0 {
		var err error
		if p.arena.buf, n, err = p.nested.rows(p.arena.buf, r.fields, cols, n); err != nil {
			return 0, fmt.Errorf("%s: row group %d, %w", r.file.path, s.RowGroup, err)
		}
	}
	for i := range p.cols {
		if err := p.cols[i].take(&p.pageReader, r.fields[p.file.leaves[i].place:], cols, n); err != nil {
			return 0, p.columnError(s, i, err)
		}
	}
	base := uint32(p.arena.regions[2*len(p.cols)].off)
	for i, f := range p.file.fixed {
		value := p.fixed[i]
		if !value.IsNull() {
			value.Off += base
		}
		for at := f.place; at < n*cols; at += cols {
			r.fields[at] = value
		}
	}
	return n, nil
}

// begin makes the columns ready for a row group. After the regions of the columns is one for the values of the file's path.
func (p *parquetReader) begin(s Split, o *Options) error {
	m := p.file
	p.memory = o.memory()
	if len(p.cols) != m.flat {
		p.cols = make([]columnReader, m.flat)
	}
	chunks := m.chunks[s.RowGroup*len(m.leaves):]
	for i := range p.cols {
		p.cols[i].begin(i, m.leaves[i].typ, chunks[i])
		page, dictionary := chunks[i].buffers()
		p.arena.want(2*i, page)
		p.arena.want(2*i+1, dictionary)
	}
	p.nested.begin(p, m, chunks[m.flat:len(m.leaves)], o)
	size := 0
	for _, c := range m.fixed {
		size += len(c.constant.value)
	}
	region := 2 * m.flat
	p.arena.want(region, size)
	if err := p.arena.reserve(region, size); err != nil {
		return err
	}
	p.fixed = p.fixed[:0]
	data, at := p.region(region), 0
	for _, c := range m.fixed {
		if c.constant.null {
			p.fixed = append(p.fixed, span.Null())
			continue
		}
		n := copy(data[at:], c.constant.value)
		p.fixed = append(p.fixed, Span{Off: uint32(at), Len: uint32(n)})
		at += n
	}
	return nil
}

// emit gives out the n rows that are in the fields. The first of them is the file's row with the number first.
func (p *parquetReader) emit(first int64, n, cols int) error {
	r := p.r
	r.offsets = r.offsets[:0]
	for i := range int64(n) {
		r.offsets = append(r.offsets, first+i)
	}
	fields := r.fields[:n*cols]
	size := int64(0)
	for _, s := range fields {
		size += int64(s.Len)
	}
	return r.give(fields, r.offsets, 0, Batch{Data: p.arena.buf, Bytes: size})
}

func (p *parquetReader) columnError(s Split, col int, err error) error {
	return fmt.Errorf("%s: row group %d, column %s: %w", p.r.file.path, s.RowGroup, p.file.leaves[col].name, err)
}
