// Package celltype makes the bytes of cells of the text of columns, and text of
// those bytes again: numbers, booleans, decimals and points in time as HBase's
// Bytes and Phoenix's types encode them (HBase 2.6.4, Phoenix 5.1.3), and JSON
// strings. A [Type] names one; its [Converter] and [Reverter] keep nothing
// between calls and may be used by several goroutines.
package celltype
