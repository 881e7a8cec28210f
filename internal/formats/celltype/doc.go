// Package celltype converts the text of columns to bytes of cells, and those bytes back to text: numbers, booleans, decimals, dates and timestamps in
// the encodings of HBase's Bytes and Phoenix's types (HBase 2.6.4, Phoenix 5.1.3), and JSON strings. A [Type] selects the conversion; its [Converter]
// and [Reverter] keep no state between calls and may be used by several goroutines.
package celltype
