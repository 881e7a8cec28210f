package avro

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoColumn is within the [ColumnError] of a column that the schema does not have.
var ErrNoColumn = errors.New("the schema has no such column")

// Error is a fault of a file: of its header, of a block, or of a record. It holds no value of a record.
type Error struct {
	// Offset is the byte of the file that the block begins with, its count of records; of a fault of the header it is 0.
	Offset int64
	// Record is the record's number in the block, from 1, or 0 if the fault is not of a record.
	Record int64
	// Field is the path of the field at fault, as in addr.city, if it is one.
	Field string
	// Reason describes the error.
	Reason string
	// Err is the cause behind Reason, if there is one.
	Err error
}

// Error names block, record, field and reason.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Offset == 0 {
		b.WriteString("Avro header")
	} else {
		fmt.Fprintf(&b, "Avro block at byte %d", e.Offset)
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, ", record %d", e.Record)
	}
	if e.Field != "" {
		fmt.Fprintf(&b, ", field %s", e.Field)
	}
	b.WriteString(": " + e.Reason)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// SizeError is something that is larger than the memory it may take.
type SizeError struct {
	// What is too large: "header", "packed block", "unpacked block", "text of record".
	What string
	// Offset is the byte of the file that the block begins with, 0 for a header.
	Offset int64
	// Record and Field are the place in the text of a record, as in [Error].
	Record int64
	Field  string
	// Need is how many bytes it takes. AtLeast says that it may take more: it was not read to its end.
	Need    int64
	AtLeast bool
	// Limit is how many bytes it may take.
	Limit int64
}

// Error names what is too large, its place and both sizes.
func (e *SizeError) Error() string {
	least := ""
	if e.AtLeast {
		least = "at least "
	}
	place := fmt.Sprintf("at byte %d", e.Offset)
	if e.Record > 0 {
		place = fmt.Sprintf("%d of the block %s, field %s,", e.Record, place, e.Field)
	}
	return fmt.Sprintf("Avro %s %s takes %s%d bytes; the limit is %d", e.What, place, least, e.Need, e.Limit)
}

// CodecError is a codec that is not read.
type CodecError struct{ Codec string }

// Error names the codec and those that are read.
func (e *CodecError) Error() string {
	return fmt.Sprintf("Avro codec %s is not supported; write the file with null, deflate, snappy, zstandard or bzip2", printable(e.Codec))
}

// ColumnError is a column that cannot be chosen.
type ColumnError struct {
	// Column is the name or path that was asked for.
	Column string
	// Err is the reason, [ErrNoColumn] for one that is not there.
	Err error
}

// Error names the column and the reason.
func (e *ColumnError) Error() string { return fmt.Sprintf("Avro column %s: %v", e.Column, e.Err) }

func (e *ColumnError) Unwrap() error { return e.Err }

// printable returns a name of a file within a message, quoted unless it is plain, and of bounded length.
func printable(name string) string {
	name = short(name, 64)
	for _, c := range []byte(name) {
		if c < '-' || c > 'z' {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}

// short returns a text of a file within a message, cut off after n bytes.
func short(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
