package parquet

import "bulkload/pkg/source/span"

// A Column is a column to read.
type Column struct {
	Name string // path of a field in the file; unused with Null or Fixed
	// Null means that every row is NULL, and Fixed that every row has Value.
	Null, Fixed bool
	Value       []byte
}

// Constants are the planned columns that have the same value in every row of a file. Packages of other formats use them too.
type Constants struct {
	Text  []byte // the values that are not NULL, one after the other
	null  []int  // places among the columns
	fixed []fixedPlace
}

type fixedPlace struct {
	place int
	value span.Span // in Text
}

// Add adds a column if it is Null or Fixed, and reports whether it is.
func (k *Constants) Add(place int, c Column) bool {
	switch {
	case c.Null:
		k.null = append(k.null, place)
	case c.Fixed:
		k.fixed = append(k.fixed, fixedPlace{place, span.Span{Off: uint32(len(k.Text)), Len: uint32(len(c.Value))}})
		k.Text = append(k.Text, c.Value...)
	default:
		return false
	}
	return true
}

// SetNull sets the NULL columns in the rows of a batch with the given number of columns. They stay set when the batch is reused.
func (k *Constants) SetNull(fields []span.Span, columns int) {
	for _, place := range k.null {
		for at := place; at < len(fields); at += columns {
			fields[at] = span.Null()
		}
	}
}

// SetFixed sets the other constant columns in n rows of a batch, which has a copy of Text at the offset base.
func (k *Constants) SetFixed(fields []span.Span, columns, n, base int) {
	for _, f := range k.fixed {
		value := span.Span{Off: uint32(base) + f.value.Off, Len: f.value.Len}
		for at := f.place; at < n*columns; at += columns {
			fields[at] = value
		}
	}
}
