package avro

import (
	"errors"
	"fmt"
	"strings"

	"bulkload/pkg/setting"
)

// ErrNoColumn is wrapped by the [ColumnError] of a column that the schema does not have.
var ErrNoColumn = errors.New("the schema has no such column")

// Error is a fault in a file's header, in a block or in a record. It contains no value of a record.
type Error struct {
	// Offset is the file offset of the block, where its count of records begins; it is 0 for a fault in the header.
	Offset int64
	// Record is the record's number in the block, from 1, or 0 if the fault is not in a record.
	Record int64
	// Field is the path of the field at fault, such as addr.city, or empty.
	Field string
	// Reason describes the fault.
	Reason string
	// Err is the underlying error, or nil.
	Err error
}

// Error returns the block, record, field and reason.
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

// SizeError reports data that are larger than their memory limit.
type SizeError struct {
	// What is the kind of data: "header", "packed block", "unpacked block", "text of record".
	What string
	// Offset is the file offset of the block, 0 for a header.
	Offset int64
	// Record and Field locate the text of a record, as in [Error].
	Record int64
	Field  string
	// Need is the size in bytes. AtLeast means that the data were not read to their end, and may be larger.
	Need    int64
	AtLeast bool
	// Limit is the largest size in bytes.
	Limit int64
}

// Error returns the kind of data, its location and both sizes.
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

// CodecError reports a codec that is not supported.
type CodecError struct{ Codec string }

// Error names the codec and the supported codecs.
func (e *CodecError) Error() string {
	return fmt.Sprintf("Avro codec %s is not supported; write the file with null, deflate, snappy, zstandard, bzip2 or xz", printable(e.Codec))
}

// ColumnError reports a column that cannot be selected.
type ColumnError struct {
	// Column is the requested name or path.
	Column string
	// Err is the reason; [ErrNoColumn] for a missing column.
	Err error
}

// Error names the column and the reason.
func (e *ColumnError) Error() string { return fmt.Sprintf("Avro column %s: %v", e.Column, e.Err) }

func (e *ColumnError) Unwrap() error { return e.Err }

// printable returns a name from a file for a message: quoted unless it is plain, and of limited length.
func printable(name string) string {
	name = setting.Shorten(name, 64)
	for _, c := range []byte(name) {
		if c < '-' || c > 'z' {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}
