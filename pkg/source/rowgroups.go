package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"bulkload/internal/formats/orc"
	"bulkload/internal/formats/parquet"
	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/source/listing"
)

// rowFile is a file of a format that stores numbered rows in groups, column by column.
type rowFile interface {
	Names() []string
	Columns(wanted []string) []string
	Text(column int) error
	Leads(path string) bool
	Whole(path string) string
	Plan(columns []parquet.Column, zone *time.Location) error
	Sum() uint32
	Groups() []int64
	Memory() int64
}

// rowReader reads row groups.
type rowReader interface {
	Rows(fields []Span, n int) (int, error)
	Data() []byte
	Finish(sums []byte) ([]byte, error)
	Release()
}

// limit returns the memory limit of a reader.
func (o *Options) limit() parquet.Limit {
	return parquet.Limit{Bytes: o.memory(), Exceeded: exceeded}
}

// probeGroups reads the footer of a file of a named format.
func probeGroups(ctx context.Context, f *inputFile, o *Options, name string, open func(io.ReaderAt, int64, parquet.Limit) (rowFile, error)) (_ content, err error) {
	if f.compression != "" {
		return nil, fmt.Errorf("%s: a packed %s file cannot be read: unpack it first", f.Path, name)
	}
	h, raw, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	p := &groupFile{file: f}
	if p.rowFile, err = open(raw, f.Info.Size(), o.limit()); err == nil {
		err = p.choose(o)
	}
	if err == nil {
		err = valuetext.CheckNames(f.columns)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return p, nil
}

// groupFile is a file of row groups.
type groupFile struct {
	rowFile
	file *inputFile
}

// choose omits or rejects columns whose type has no text, unless some are chosen.
func (p *groupFile) choose(o *Options) error {
	f, names := p.file, p.Names()
	if p.without() {
		return nil
	}
	if len(o.Columns) > 0 {
		f.columns = names
		return nil
	}
	for i, name := range names {
		switch err := p.Text(i); {
		case err == nil:
			f.columns = append(f.columns, name)
		case o.passesTextless():
			f.others = append(f.others, name)
		default:
			return noTextForm(fmt.Errorf("column %s: %w", valuetext.Name(name), err))
		}
	}
	if len(f.columns) == 0 {
		return errors.New("it has no columns that can be text")
	}
	return nil
}

// without reports whether the file has neither columns nor records, as Hive writes ORC for a bucket without rows. It is a file without anything then.
func (p *groupFile) without() bool { return len(p.Names()) == 0 && len(p.Groups()) == 0 }

func (p *groupFile) leads(path string) bool { return p.Leads(path) }

func (p *groupFile) offer(wanted []string, _ string, o *Options) error {
	for _, path := range o.Columns {
		if name := p.Whole(path); name != "" && constantAt(p.file.Partitions, path) < 0 {
			return fmt.Errorf("column %s: %s is not a struct: only the whole of it can be a column", valuetext.Name(path), valuetext.Name(name))
		}
	}
	if !p.without() {
		p.file.columns = p.Columns(wanted)
	}
	return nil
}

// plan makes the file's order of columns that of the schema.
func (p *groupFile) plan(schema []string, o *Options) error {
	f, columns := p.file, make([]parquet.Column, len(schema))
	if p.without() {
		columns, schema = nil, nil
	}
	for i, name := range schema {
		switch from := f.placeOf(i); {
		case from >= 0:
			columns[i] = parquet.Column{Name: name}
		case from == placeNull:
			columns[i] = parquet.Column{Null: true}
		default:
			c := f.Partitions[placeNull-1-from]
			columns[i] = parquet.Column{Null: c.Null, Fixed: true, Value: []byte(c.Value)}
		}
	}
	if err := p.Plan(columns, o.Location); err != nil {
		return err
	}
	f.order, f.headSum = nil, p.Sum()
	return nil
}

func (p *groupFile) splits(_ context.Context, _ *Options, add func(start, end int64, group int)) error {
	row := int64(0)
	for g, rows := range p.Groups() {
		if rows > 0 {
			add(row, row+rows, g)
		}
		row += rows
	}
	return nil
}

// memory returns twice the size of the buffers: while an arena grows there are two.
func (p *groupFile) memory(*Options) int64 { return 2 * p.Memory() }

// groupReader reads row groups.
type groupReader struct {
	rowReader
	reader *Reader
	begin  func(m rowFile, raw io.ReaderAt, group int, fields []Span) error // stands before the first row of a group
}

func (p *groupReader) read(s Split) (err error) {
	r := p.reader
	h, raw, err := r.file.Open(r.ctx)
	if err != nil {
		return err
	}
	defer func() {
		p.Release()
		err = cmp.Or(err, h.Close())
	}()
	cols := len(r.in.columns)
	most := wideBatch(cols)
	if len(r.fields) < most*cols {
		r.fields = make([]Span, most*cols)
	}
	named := func(err error) error { return fmt.Errorf("%s: %w", r.file.Path, err) }
	if err := p.begin(r.file.content.(*groupFile).rowFile, raw, s.RowGroup, r.fields[:most*cols]); err != nil {
		return named(err)
	}
	for row := s.Start; row < s.End; {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n, err := p.Rows(r.fields, int(min(s.End-row, int64(most))))
		if err != nil {
			return named(err)
		}
		fields, size := r.fields[:n*cols], int64(0)
		for _, s := range fields {
			size += int64(s.Len)
		}
		if err := r.giveNumbered(fields, row, n, Batch{Data: p.Data(), Bytes: size}); err != nil {
			return err
		}
		row += int64(n)
	}
	sums, err := p.Finish(nil)
	if err != nil {
		return named(err)
	}
	r.sum = addSum(r.sum, sums)
	return nil
}

// batchRows is the number of rows in a batch of a format without text: their spans fit in a core's cache.
const batchRows = parquet.MaxRows

// wideBatch returns the number of rows in a batch for a number of columns: fewer if their spans would take some megabytes.
func wideBatch(cols int) int { return min(max((1<<18)/cols, 16), batchRows) }

// orcFormat is ORC, as internal/formats/orc reads it.
type orcFormat struct{}

func (orcFormat) facts() facts {
	return facts{Traits: Traits{Named: true, Rows: true}, endings: []string{".orc"}, magic: []string{orc.Magic}, ending: orc.Ends, binary: true, values: true}
}

func (orcFormat) check(*Options) error { return nil }

func (orcFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	return probeGroups(ctx, f, o, "ORC", func(raw io.ReaderAt, size int64, limit parquet.Limit) (rowFile, error) {
		m, err := orc.Open(raw, size, limit)
		if err == nil && slices.Equal(m.Names(), []string{"operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row"}) {
			err = listing.RefuseTransactional(path.Dir(f.Path))
		}
		return m, err
	})
}

func (orcFormat) reader(r *Reader) splitReader {
	p := orc.NewReader(r.in.opts.limit(), r.in.opts.MaxRecord)
	return &groupReader{rowReader: p, reader: r, begin: func(m rowFile, raw io.ReaderAt, group int, fields []Span) error {
		return p.Begin(m.(*orc.File), raw, group, fields)
	}}
}

// parquetFormat is Parquet, as internal/formats/parquet reads it.
type parquetFormat struct{}

func (parquetFormat) facts() facts {
	return facts{Traits: Traits{Named: true, Rows: true}, endings: []string{".parquet", ".parq", ".pq"},
		magic: []string{parquet.Magic, parquet.EncryptedMagic}, binary: true, values: true}
}

func (parquetFormat) check(*Options) error { return nil }

func (parquetFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	return probeGroups(ctx, f, o, "Parquet", func(raw io.ReaderAt, size int64, limit parquet.Limit) (rowFile, error) {
		return parquet.Open(raw, size, limit)
	})
}

func (parquetFormat) reader(r *Reader) splitReader {
	p := parquet.NewReader(r.in.opts.limit(), r.in.opts.MaxRecord)
	return &groupReader{rowReader: p, reader: r, begin: func(m rowFile, raw io.ReaderAt, group int, fields []Span) error {
		return p.Begin(m.(*parquet.File), raw, group, fields)
	}}
}
