package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"bulkload/pkg/setting"
)

// A Table is a file system whose files are parts of a table: they have records and no text, and any number of columns, which
// are named and not listed. All its files are of [FormatTable]. Its methods are called by several goroutines.
type Table interface {
	FS
	// Check says what is wrong with the names of columns. info is that of ReadDir.
	Check(info fs.FileInfo, columns []string) error
	// Memory is about how many bytes reading a file takes, in addition to its records.
	Memory(info fs.FileInfo) int64
	// Rows stands before the first record of a file. The context bounds its life.
	Rows(ctx context.Context, info fs.FileInfo, columns []string) (Rows, error)
}

// Rows are the records of a part of a table. They belong to one goroutine.
type Rows interface {
	// Next appends the values of the next record to buf, and sets the span of each column, which is the place in what it
	// returns, or NULL. At the end the error is [io.EOF].
	Next(buf []byte, fields []Span) ([]byte, error)
	// Position is about how many bytes of the file were read.
	Position() int64
	Close() error
}

// IsTable reports whether a file system is a [Table].
func IsTable(fsys FS) bool {
	_, ok := fsys.(Table)
	return ok
}

// probeTable sees that the columns can be read.
func (f *inputFile) probeTable(o *Options) error {
	if o.Format != FormatAuto {
		return setting.Errorf("%s is a part of a table: it has no %s %s", f.path, setting.Format, o.Format)
	}
	f.format, f.columns = FormatTable, slices.Clone(o.Columns)
	if len(f.columns) == 0 {
		f.columns = slices.Clone(o.Named)
	}
	for _, c := range f.constants {
		f.columns = slices.DeleteFunc(f.columns, func(name string) bool { return name == c.name })
	}
	if len(f.columns) == 0 {
		return setting.Errorf("%s: a table does not say which columns its rows have: name those to read with %s, or each of them in the mapping", f.path, setting.Columns)
	}
	if err := f.table().Check(f.info, f.columns); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if need := f.tableMemory(o); need > o.memory() {
		return fmt.Errorf("%s: %w", f.path, &MemoryError{What: "the files of a region, which are read together,", Need: need, Have: o.memory()})
	}
	return nil
}

// table is the file system, nil for any other.
func (f *inputFile) table() Table {
	t, _ := f.fs.(Table)
	return t
}

// tableMemory is what a reader takes besides the chunk.
func (f *inputFile) tableMemory(o *Options) int64 {
	return f.table().Memory(f.info) + 4*int64(o.ChunkSize)
}

// readTable reads a part of a table.
func (r *Reader) readTable(s Split) (err error) {
	rows, err := r.file.table().Rows(r.ctx, r.file.info, r.file.columns)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.file.path, err)
	}
	defer func() { err = firstError(err, rows.Close()) }()
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
			if errors.Is(err, io.EOF) {
				more = false
				break
			}
			number := r.records + int64(len(r.offsets))
			if err != nil {
				return fmt.Errorf("%s: after row %d: %w", r.file.path, number, err)
			}
			r.buf, r.extra = buf[:cap(buf)], len(buf)
			if len(buf)-from > r.in.opts.MaxRecord {
				return fmt.Errorf("%s: row %d: its values have %s, and a record has at most %d", r.file.path, number+1, setting.Count(len(buf)-from, "byte"), r.in.opts.MaxRecord)
			}
			r.sumRow(r.fields[k:k+cols], buf[from:])
			r.offsets = append(r.offsets, number)
			k += cols
		}
		at := min(rows.Position(), s.End)
		if !more {
			at = s.End
		}
		if err := r.emitTable(k, max(at-read, 0)); err != nil {
			return err
		}
		read = max(at, read)
	}
	return nil
}

// sumRow adds a record to the checksum: how long its values are, and their bytes.
func (r *Reader) sumRow(fields []Span, values []byte) {
	r.lengths = r.lengths[:0]
	for _, f := range fields {
		n := f.Len
		if f.IsNull() {
			n = math.MaxUint32
		}
		r.lengths = binary.LittleEndian.AppendUint32(r.lengths, n)
	}
	r.sum = addSum(addSum(r.sum, r.lengths), values)
}

// emitTable gives out the k fields of the records that were read.
func (r *Reader) emitTable(k int, bytes int64) error {
	rows := len(r.offsets)
	if rows == 0 {
		return nil
	}
	fields, cols, end := r.fields[:k], r.file.cols, r.extra
	if r.file.order != nil {
		fields, cols = r.picked(fields, r.offsets, end), len(r.file.order)
	}
	r.batch = Batch{Split: r.split, Path: r.file.path, Data: r.buf[:max(r.extra, end)], Fields: fields, Offsets: r.offsets,
		Rows: rows, Cols: cols, Bytes: bytes, First: r.records + 1, reader: r}
	r.records += int64(rows)
	if r.quiet {
		return nil
	}
	return r.emit(&r.batch)
}
