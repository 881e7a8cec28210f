// Package hfile writes and reads HFile version 3, HBase's store file, the way
// HBase 2.6 itself writes it for a bulk load (HFileOutputFormat2 through
// StoreFileWriter).
//
// # Data
//
// A [Writer] takes cells, or whole rows, in HBase key order and turns them
// into one file of one column family: encoded and compressed data blocks, a
// block index of one or more levels, Bloom filter chunks in between, and a
// load-on-open section (root index, file info, Bloom metadata) before the
// trailer. A [Reader] goes the other way and believes nothing that it reads.
// The layout, with the facts that this code relies on, is in format.md.
//
// # Order
//
// Cells are ordered by row, family and qualifier as unsigned bytes, then by
// timestamp and type, both descending ([Compare]). A cell equal in key to the
// one before is allowed; a smaller one is an error that names both.
//
// # Equality
//
// Given the same cells, options and clock, a file without compression equals
// HBase's byte for byte; with compression its blocks equal HBase's after
// decompression. [Writer.AppendRow] is a faster way to write the same bytes
// as [Writer.Append].
//
// # Concurrency and ownership
//
// A Writer or a Reader belongs to one goroutine at a time. Byte slices given
// to a Writer are read during the call and not kept.
package hfile
