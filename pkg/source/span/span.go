// Package span describes the position of a value in a piece of memory that many values share. Formats' parsers fill spans, batches of
// records consist of them: no value is an object of its own. It is a small leaf of its own, below all formats, which cannot import
// [bulkload/pkg/source].
package span

import "math"

// A Span is the position of a value: Len bytes from Off on. The zero value is the empty value.
type Span struct{ Off, Len uint32 }

// Null returns the span of NULL, which is not the empty value.
func Null() Span { return Span{Off: math.MaxUint32} }

// IsNull reports whether the span is NULL.
func (s Span) IsNull() bool { return s.Off == math.MaxUint32 }

// Of returns the value in data, which is not copied. It is nil for [Null], and for nothing else.
func (s Span) Of(data []byte) []byte {
	switch {
	case s.IsNull():
		return nil
	case data == nil: // its slices are nil too
		return []byte{}
	}
	return data[s.Off : s.Off+s.Len : s.Off+s.Len]
}
