package source

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"bulkload/pkg/setting"
)

// A Table is a file system whose files are parts of a table: they have records and no text, and any number of columns, which are named and
// not listed. All its files are of [FormatTable]. Its methods are called by several goroutines.
type Table interface {
	FS
	// Check returns an error if names of columns are invalid. info comes from ReadDir.
	Check(info fs.FileInfo, columns []string) error
	// Memory returns the approximate number of bytes for reading a file, in addition to its records.
	Memory(info fs.FileInfo) int64
	// Rows returns the records of a file, positioned before the first. The context bounds its life.
	Rows(ctx context.Context, info fs.FileInfo, columns []string) (Rows, error)
}

// Rows are the records of a part of a table. They belong to one goroutine.
type Rows interface {
	// Next appends the values of the next record to buf, and sets the span of each column, which refers to the returned slice or is NULL.
	// At the end the error is [io.EOF].
	Next(buf []byte, fields []Span) ([]byte, error)
	// Position returns the approximate number of bytes of the file that were read.
	Position() int64
	Close() error
}

// IsTable reports whether a file system is a [Table].
func IsTable(fsys FS) bool {
	_, ok := fsys.(Table)
	return ok
}

// tableParts is the format of parts of a [Table].
type tableParts struct{}

func (tableParts) facts() facts {
	return facts{Traits: Traits{Named: true, Table: true}, hidden: true, binary: true, values: true}
}

func (tableParts) check(*Options) error { return nil }

// probe checks that the columns can be read.
func (tableParts) probe(_ context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	p := tablePart{f}
	if o.Format != FormatAuto {
		return nil, setting.Errorf("%s is a part of a table: it has no %s %s", f.Path, setting.Format, o.Format)
	}
	f.columns = slices.Clone(o.Columns)
	if len(f.columns) == 0 {
		f.columns = slices.Clone(o.Named)
	}
	f.columns = slices.DeleteFunc(f.columns, func(name string) bool { return constantAt(f.Partitions, name) >= 0 })
	if len(f.columns) == 0 {
		return nil, setting.Errorf("%s: a table does not say which columns its rows have: name those to read with %s, or each of them in the mapping", f.Path, setting.Columns)
	}
	if err := f.table().Check(f.Info, f.columns); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if need := p.memory(o) + 4*int64(o.ChunkSize); need > o.memory() {
		return nil, fmt.Errorf("%s: %w", f.Path, &MemoryError{What: "the files of a region, which are read together,", Need: need, Have: o.memory()})
	}
	return p, nil
}

// table returns the file system, nil for any other.
func (f *inputFile) table() Table {
	t, _ := f.FS.(Table)
	return t
}

// tablePart is a part of a table.
type tablePart struct{ f *inputFile }

func (tablePart) offer([]string, string, *Options) error { return nil }
func (tablePart) plan([]string, *Options) error          { return nil }
func (p tablePart) memory(*Options) int64                { return p.f.table().Memory(p.f.Info) }

func (p tablePart) splits(_ context.Context, _ *Options, add func(start, end int64, group int)) error {
	add(0, p.f.size(), 0)
	return nil
}

// tableReader reads parts of tables.
type tableReader struct {
	reader  *Reader
	lengths []byte // of the values of a row
}

func (tableParts) reader(r *Reader) splitReader { return &tableReader{reader: r} }

func (t *tableReader) read(s Split) (err error) {
	r := t.reader
	rows, err := r.file.table().Rows(r.ctx, r.file.Info, r.file.columns)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.file.Path, err)
	}
	defer func() { err = cmp.Or(err, rows.Close()) }()
	cols := r.file.cols
	var read int64
	for more := true; more; {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		r.extra, r.offsets = 0, r.offsets[:0]
		k := 0
		for len(r.offsets) < wideBatch(cols) && r.extra < r.in.opts.ChunkSize {
			r.growRow(k, cols)
			from := r.extra
			buf, err := rows.Next(r.buf[:from], r.fields[k:k+cols])
			if err == io.EOF {
				more = false
				break
			}
			number := r.records + int64(len(r.offsets))
			if err != nil {
				return fmt.Errorf("%s: after row %d: %w", r.file.Path, number, err)
			}
			r.buf, r.extra = buf[:cap(buf)], len(buf)
			if len(buf)-from > r.in.opts.MaxRecord {
				return fmt.Errorf("%s: row %d: its values have %s, and a record has at most %d", r.file.Path, number+1, setting.Count(len(buf)-from, "byte"), r.in.opts.MaxRecord)
			}
			t.sum(r.fields[k:k+cols], buf[from:])
			r.offsets = append(r.offsets, number)
			k += cols
		}
		at := min(rows.Position(), s.End)
		if !more {
			at = s.End
		}
		if err := r.give(r.fields[:k], r.offsets, r.extra, Batch{Bytes: max(at-read, 0)}); err != nil {
			return err
		}
		read = max(at, read)
	}
	return nil
}

// sum adds a record to the checksum: the lengths of its values, and their bytes.
func (t *tableReader) sum(fields []Span, values []byte) {
	t.lengths = t.lengths[:0]
	for _, f := range fields {
		n := f.Len
		if f.IsNull() {
			n = math.MaxUint32
		}
		t.lengths = binary.LittleEndian.AppendUint32(t.lengths, n)
	}
	t.reader.sum = addSum(addSum(t.reader.sum, t.lengths), values)
}
