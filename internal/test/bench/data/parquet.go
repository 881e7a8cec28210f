package data

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// rowGroup is the number of rows in a row group, which are held in memory until they are written.
const rowGroup = 100_000

type parquetSink struct {
	w       *file.Writer
	columns []chunk
	values  []parquet.ByteArray // of the chunk in progress
	levels  []int16
	n       int
}

// chunk is a column of a row group: its concatenated values, and their ends.
type chunk struct {
	text []byte
	ends []int
}

// newParquetSink writes files like the defaults of pyarrow and Spark: optional string columns, dictionaries, snappy pages.
// Empty values are empty strings, not nulls, as in the other forms.
func newParquetSink(w io.Writer, columns []string) (*parquetSink, error) {
	var nodes schema.FieldList
	for _, name := range columns {
		node, err := schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Optional, schema.StringLogicalType{}, parquet.Types.ByteArray, -1, -1)
		if err != nil {
			return nil, fmt.Errorf("parquet column %s: %w", name, err)
		}
		nodes = append(nodes, node)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		return nil, fmt.Errorf("parquet schema: %w", err)
	}
	props := parquet.NewWriterProperties(parquet.WithDictionaryDefault(true), parquet.WithCompression(compress.Codecs.Snappy))
	p := &parquetSink{columns: make([]chunk, len(columns))}
	// Closing the parquet writer closes its target if that is a Closer: the file belongs to the caller.
	p.w = file.NewParquetWriter(struct{ io.Writer }{w}, root, file.WithWriterProps(props))
	return p, nil
}

func (p *parquetSink) add(fields [][]byte) error {
	for i, v := range fields {
		c := &p.columns[i]
		c.text = append(c.text, v...)
		c.ends = append(c.ends, len(c.text))
	}
	if p.n++; p.n < rowGroup {
		return nil
	}
	return p.flush()
}

func (p *parquetSink) flush() error {
	for len(p.levels) < p.n {
		p.levels = append(p.levels, 1) // every value is present
	}
	group := p.w.AppendRowGroup()
	for i := range p.columns {
		c := &p.columns[i]
		p.values = p.values[:0]
		start := 0
		for _, end := range c.ends {
			p.values = append(p.values, c.text[start:end:end])
			start = end
		}
		cw, err := group.NextColumn()
		if err != nil {
			return fmt.Errorf("parquet row group: %w", err)
		}
		if _, err := cw.(*file.ByteArrayColumnChunkWriter).WriteBatch(p.values, p.levels[:p.n], nil); err != nil {
			return fmt.Errorf("parquet column: %w", err)
		}
		if err := cw.Close(); err != nil {
			return fmt.Errorf("parquet column: %w", err)
		}
		c.text, c.ends = c.text[:0], c.ends[:0]
	}
	p.n = 0
	return group.Close()
}

func (p *parquetSink) close() error {
	if p.n > 0 {
		if err := p.flush(); err != nil {
			return err
		}
	}
	return p.w.Close()
}
