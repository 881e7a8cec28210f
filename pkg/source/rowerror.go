package source

import (
	"bytes"
	"fmt"
	"strings"

	"bulkload/internal/formats/rejects"
)

// RowError is a record that cannot be used, with its place. Its message has no value of the record, unless Reason has.
type RowError struct {
	// Path is the file.
	Path string
	// Offset is the record's first byte in the file (in a compressed file: in its unpacked text), for Parquet and tables the row's number
	// in the file, from 0, and for Avro the first byte of the record's block.
	Offset int64
	// Record is the record's number, from 1, within the part of the file that begins at byte Since. Headers and blank lines are not
	// counted; bad records are.
	Record int64
	// Since is 0, so that Record counts from the beginning of the file, unless the record is so far into the file that
	// counting would take long. For Avro it is Offset: Record is the number in the block.
	Since int64
	// Lines is the number of lines that the record spans, 0 if the format's records cannot span lines or are not text.
	Lines int64
	// Column is the name of the column at fault, if there is one.
	Column string
	// Reason describes the error.
	Reason string
	// Raw is the record without its end mark; for Parquet, Avro and tables, its values as a line of CSV. It is borrowed: valid until the
	// callback that got it returns.
	Raw []byte
	// Kept is the place of the record that is loaded instead, if this one is a duplicate.
	Kept *Place
	// Err is the cause behind Reason, if there is one.
	Err error

	rows     bool  // Offset counts rows, not bytes
	block    bool  // Record counts within a block
	rejected bool  // it is of a reject file: Offset is in the text of its records, which no file has
	split    int   // in which it is
	line     int64 // its first, 0: not known
	form     *rejects.Form
}

// Place is the place of a record, with the meaning of the fields in [RowError]. A Record of 0 is not known.
type Place struct {
	Path                  string
	Offset, Record, Since int64
}

// Error names file, record, byte, column and reason.
func (e *RowError) Error() string {
	var b strings.Builder
	by := rejects.ByByte
	switch {
	case e.rows, e.rejected:
		by = rejects.ByNone
	case e.block:
		by = rejects.ByBlock
	}
	b.WriteString(rejects.Place{Path: e.Path, Offset: e.Offset, Record: e.Record, Since: e.Since}.Text(by))
	if e.Column != "" {
		fmt.Fprintf(&b, ", column %s", e.Column)
	}
	b.WriteString(": ")
	if e.Reason == "" && e.Err != nil {
		b.WriteString(e.Err.Error())
	} else {
		b.WriteString(e.Reason)
	}
	return b.String()
}

// keep returns a copy without the borrowed bytes.
func (e RowError) keep() *RowError {
	e.Raw = nil
	return &e
}

func (e *RowError) Unwrap() error { return e.Err }

// rowError begins an error about a record of the current split. number counts within the split.
func (r *Reader) rowError(offset, number int64, raw []byte) RowError {
	e := RowError{Path: r.file.Path, Offset: offset, Record: number, Raw: raw, rows: r.file.facts.Rows || r.file.facts.Table, rejected: r.file.rejects != nil, split: r.split,
		form: r.file.formAt(offset)}
	if t, ok := r.file.content.(textForm); ok && t.spans() {
		e.Lines = 1 + int64(bytes.Count(raw, []byte{'\n'}))
	}
	if r.quiet {
		return e // records are being counted
	}
	if !r.counted {
		r.before, r.since = r.in.recordsBefore(r.ctx, r.split)
		r.counted = true
	}
	e.Record, e.Since = number+r.before, r.since
	return e
}

// blockError begins an error about a record of the current split that has the given number in the block at a byte.
func (r *Reader) blockError(block, number int64, raw []byte) RowError {
	return RowError{Path: r.file.Path, Offset: block, Record: number, Since: block, Raw: raw, block: true, split: r.split, form: r.file.form}
}
