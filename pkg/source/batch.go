package source

import (
	"bytes"

	"bulkload/internal/formats/rejects"
	"bulkload/pkg/source/span"
)

// Span is the position of a value in [Batch.Data], or NULL.
type Span = span.Span

// Batch is a run of consecutive records. It and all that it refers to is borrowed: valid until the callback that got it returns, and not to
// be changed. No batch is empty.
type Batch struct {
	// Split is the ordinal of the split in [Input.Splits].
	Split int
	// Path is the file's path.
	Path string
	// Data holds the values, and for text formats all bytes of the records.
	Data []byte
	// Fields are Rows*Cols values, row by row, in the order of [Input.Columns].
	Fields []Span
	// Offsets holds, for each row, the byte at which its record begins in the file (in a compressed file: in its unpacked text), or for
	// Parquet and tables the row's number in the file, from 0. Offsets ascend within a split, and from each split of a file to the next.
	// For Avro they are the record's number in the split, from 0, and ascend within that only.
	Offsets    []int64
	Rows, Cols int
	// Bytes is the size of the records in the input: bytes of text, for Parquet of values, for Avro and tables of the file.
	Bytes int64
	// First is the number of the first record within its split, from 1. Bad records count too, and end a batch, so row i has the number
	// First+i.
	First int64

	reader *Reader
	base   int64 // offset of Data[0]; text formats only
	end    int   // where the last record ends in Data; text formats only
	block  int64 // of records in blocks: the byte of the file at which theirs begins
	number int64 // and the number of the first record in it, from 1
}

// Field returns the value of a column in a row, nil for NULL.
func (b *Batch) Field(row, col int) []byte { return b.Fields[row*b.Cols+col].Of(b.Data) }

// Null reports whether a row has no value of a column.
func (b *Batch) Null(row, col int) bool { return b.Fields[row*b.Cols+col].IsNull() }

// Nulls reports whether the format of the records distinguishes NULL from an empty value: Parquet, ORC, Avro, JSON lines, tables, and text
// whose dialect writes NULL.
func (b *Batch) Nulls() bool { return b.reader.file.nulls() }

// RowError begins an error about a row: it has the place and the record, borrowed like the batch. The caller adds Column, Reason and Err.
func (b *Batch) RowError(row int) RowError {
	if b.number > 0 {
		return b.reader.blockError(b.block, b.number+int64(row), b.raw(row))
	}
	return b.reader.rowError(b.Offsets[row], b.First+int64(row), b.raw(row))
}

// raw returns the record as it is in the file; for Parquet and Avro, which have no text, its values as a line of CSV.
func (b *Batch) raw(row int) []byte {
	if b.reader.file.facts.values {
		var line []byte
		for c := range b.Cols {
			if c > 0 {
				line = append(line, ',')
			}
			if b.Null(row, c) {
				line = append(line, rejects.Null...)
				continue
			}
			line = appendCSV(line, b.Field(row, c))
		}
		return line
	}
	start, end := int(b.Offsets[row]-b.base), b.end
	if row+1 < b.Rows {
		end = int(b.Offsets[row+1] - b.base)
	}
	return b.reader.trimEnd(b.reader.text.record(b.Data[start:end]))
}

// cut removes the first n of the rows at offsets from a batch, and returns a batch for them. The size of records that are not text is assumed to be equal.
func (b *Batch) cut(offsets []int64, n int, text bool) Batch {
	first := *b
	if first.Bytes = b.Bytes * int64(n) / int64(len(offsets)); text {
		first.Bytes, first.end = offsets[n]-offsets[0], int(offsets[n]-b.base)
	}
	if b.Bytes -= first.Bytes; b.number > 0 {
		b.number += int64(n)
	}
	return first
}

// appendCSV appends a field of CSV, quoted if needed.
func appendCSV(dst, value []byte) []byte {
	if !bytes.ContainsAny(value, "\",\r\n") && string(value) != rejects.Null {
		return append(dst, value...)
	}
	dst = append(dst, '"')
	for _, c := range value {
		if c == '"' {
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// pick appends the fields of every row in the order of the schema: column c of the schema is column order[c] of the file's cols columns,
// NULL, or one of the constants, whose spans are given.
func pick(dst, fields []Span, rows, cols int, order []int, constants []Span) []Span {
	for i := range rows {
		row := fields[i*cols : (i+1)*cols]
		for _, from := range order {
			switch {
			case from >= 0:
				dst = append(dst, row[from])
			case from == placeNull:
				dst = append(dst, span.Null())
			default:
				dst = append(dst, constants[placeNull-1-from])
			}
		}
	}
	return dst
}
