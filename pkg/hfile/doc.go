// Package hfile writes and reads HFile version 3, HBase's store file format. It writes
// files as HBase 2.6 does for a bulk load (HFileOutputFormat2 through StoreFileWriter).
//
// # Data
//
// A [Writer] takes cells, or whole rows, in HBase key order and writes them to one
// file of one column family: encoded and compressed data blocks, a block index of
// one or more levels, Bloom filter chunks between the data blocks, and a
// load-on-open section (root index, file info, Bloom metadata) before the trailer.
// A [Reader] reads files and validates their form, [Check] validates all of a file. The file layout,
// with the facts that this code relies on, is described in format.md.
//
// # Order
//
// Cells are ordered by row, family and qualifier as unsigned bytes, then by
// timestamp and type, both descending ([Compare]). A cell whose key equals the
// previous key is allowed; a smaller key is an [OrderError], which holds both.
//
// # Equality
//
// Given the same cells, options and clock, a file without compression equals HBase's
// byte for byte; with compression its blocks equal HBase's after decompression.
// [RowWriter.AppendRow] is a faster way to write the same bytes as [Writer.Append].
//
// # Concurrency and ownership
//
// A Writer or a Reader must be used by one goroutine at a time. A Writer reads
// byte slices during the call and does not keep them.
package hfile
