// Package parquet reads Parquet files as text: [Open] reads a footer, [File.Plan] selects the columns to read, and a [Reader] returns the
// rows of row groups as spans. The package does not open files and does not know their names.
//
// It does not use the readers of Arrow's library. These panic on logical types that they do not know, copy every value, panic on damaged
// pages and loop for ever on some, and support neither lz4_raw nor byte stream splits. This package uses strings where their page was
// unpacked, and converts a dictionary's entries to text once. Begin reading at reader.go.
package parquet
