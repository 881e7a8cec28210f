package export

import (
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"bulkload/pkg/setting"
)

// parquetEncoder writes Parquet files as Spark and pyarrow do by default: optional
// columns, dictionaries, pages compressed with Snappy. A column has the Parquet type
// of its values if package source reads that type as the text that the job expects.
// Other columns are STRING. Cells of an export without a job are plain bytes.
type parquetEncoder struct {
	w       *file.Writer
	columns []parquetColumn
	held    int // bytes in the row group
	most    int
	rows    int

	batch  []parquet.ByteArray
	fixed  []parquet.FixedLenByteArray
	levels []int16
}

// parquetColumn is a column of the row group: its values, and which rows have one.
type parquetColumn struct {
	parquetForm
	there   []bool
	data    []byte // byte arrays, concatenated
	lengths []uint32
	ints    []int32
	longs   []int64
	floats  []float32
	doubles []float64
	bools   []bool
}

// parquetBatch is the number of values passed to the library at a time.
const parquetBatch = 1024

// maxParquetRows bounds the rows of a row group, and so the memory that it takes in addition to its values.
const maxParquetRows = 1 << 20

// newParquetEncoder returns an encoder with row groups of about a third of most bytes:
// the library also holds a column's pages and its dictionary.
func newParquetEncoder(w io.Writer, columns []column, most int) (*parquetEncoder, error) {
	e := &parquetEncoder{columns: make([]parquetColumn, len(columns)), most: most / 3}
	var nodes schema.FieldList
	for i, c := range columns {
		form, err := parquetFormOf(&c)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.name, err)
		}
		node, err := schema.NewPrimitiveNodeLogical(c.name, parquet.Repetitions.Optional, form.logical, form.kind, form.width, -1)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.name, err)
		}
		e.columns[i].parquetForm = form
		nodes = append(nodes, node)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		return nil, err
	}
	props := parquet.NewWriterProperties(parquet.WithDictionaryDefault(true), parquet.WithCompression(compress.Codecs.Snappy), parquet.WithCreatedBy("bulkload"))
	// Closing the library's writer would close the underlying writer, if that had a
	// Close method.
	e.w = file.NewParquetWriter(struct{ io.Writer }{w}, root, file.WithWriterProps(props))
	return e, nil
}

func (e *parquetEncoder) row(r *row) (int, error) {
	for i := range e.columns {
		c := &e.columns[i]
		v := r.value(i)
		c.there = append(c.there, v != nil)
		e.held += 16
		if v == nil {
			continue
		}
		if err := c.add(v); err != nil {
			return i, err
		}
		e.held += len(v)
	}
	if e.rows++; e.held < e.most && e.rows < maxParquetRows {
		return -1, nil
	}
	return -1, e.flush()
}

// add appends a value, given as text.
func (c *parquetColumn) add(v []byte) error {
	var err error
	switch c.kind {
	case parquet.Types.Int32, parquet.Types.Int64:
		var n int64
		if n, err = c.number(v); c.kind == parquet.Types.Int32 {
			c.ints = append(c.ints, int32(n))
		} else {
			c.longs = append(c.longs, n)
		}
	case parquet.Types.Float:
		var f float64
		f, err = strconv.ParseFloat(string(v), 32)
		c.floats = append(c.floats, float32(f))
	case parquet.Types.Double:
		var f float64
		f, err = strconv.ParseFloat(string(v), 64)
		c.doubles = append(c.doubles, f)
	case parquet.Types.Boolean:
		c.bools = append(c.bools, string(v) == "true")
	case parquet.Types.FixedLenByteArray:
		c.data, err = appendWide(c.data, v, c.width)
		c.lengths = append(c.lengths, uint32(c.width))
	default:
		if _, isText := c.logical.(schema.StringLogicalType); isText && !utf8.Valid(v) {
			return errNotUTF8
		}
		c.data = append(c.data, v...)
		c.lengths = append(c.lengths, uint32(len(v)))
	}
	return err
}

// flush writes the row group.
func (e *parquetEncoder) flush() error {
	group := e.w.AppendRowGroup()
	for i := range e.columns {
		cw, err := group.NextColumn()
		if err == nil {
			err = e.column(cw, &e.columns[i])
		}
		if err == nil {
			err = cw.Close()
		}
		if err != nil {
			return fmt.Errorf("row group of %s: %w", setting.Count(e.rows, "row"), err)
		}
	}
	e.rows, e.held = 0, 0
	return group.Close()
}

// column writes a column of the row group, in batches.
func (e *parquetEncoder) column(w file.ColumnChunkWriter, c *parquetColumn) (err error) {
	data, value := 0, 0
	for from := 0; from < len(c.there) && err == nil; from += parquetBatch {
		e.levels = e.levels[:0]
		first := value
		for _, there := range c.there[from:min(from+parquetBatch, len(c.there))] {
			level := int16(0)
			if there {
				level = 1
				value++
			}
			e.levels = append(e.levels, level)
		}
		switch w := w.(type) {
		case *file.ByteArrayColumnChunkWriter:
			e.batch = e.batch[:0]
			for _, n := range c.lengths[first:value] {
				e.batch = append(e.batch, c.data[data:data+int(n):data+int(n)])
				data += int(n)
			}
			_, err = w.WriteBatch(e.batch, e.levels, nil)
		case *file.FixedLenByteArrayColumnChunkWriter:
			e.fixed = e.fixed[:0]
			for range c.lengths[first:value] {
				e.fixed = append(e.fixed, c.data[data:data+c.width:data+c.width])
				data += c.width
			}
			_, err = w.WriteBatch(e.fixed, e.levels, nil)
		case *file.Int32ColumnChunkWriter:
			_, err = w.WriteBatch(c.ints[first:value], e.levels, nil)
		case *file.Int64ColumnChunkWriter:
			_, err = w.WriteBatch(c.longs[first:value], e.levels, nil)
		case *file.Float32ColumnChunkWriter:
			_, err = w.WriteBatch(c.floats[first:value], e.levels, nil)
		case *file.Float64ColumnChunkWriter:
			_, err = w.WriteBatch(c.doubles[first:value], e.levels, nil)
		case *file.BooleanColumnChunkWriter:
			_, err = w.WriteBatch(c.bools[first:value], e.levels, nil)
		default:
			err = fmt.Errorf("a %T writes no values", w)
		}
	}
	c.there, c.data, c.lengths = c.there[:0], c.data[:0], c.lengths[:0]
	c.ints, c.longs, c.floats, c.doubles, c.bools = c.ints[:0], c.longs[:0], c.floats[:0], c.doubles[:0], c.bools[:0]
	return err
}

func (e *parquetEncoder) close() error {
	if e.rows > 0 {
		if err := e.flush(); err != nil {
			return err
		}
	}
	return e.w.Close()
}
