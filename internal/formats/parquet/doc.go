// Package parquet reads Parquet files as text: [Open] reads a footer, [File.Plan] selects the columns to read, and a [Reader] returns the
// rows of row groups as spans. The package does not open files and does not know their names.
//
// It does not use the readers of Arrow's library. These copy every value, panic on unknown logical types and on damaged pages, loop forever
// on some damaged pages, and support neither lz4_raw nor byte stream splits. This package uses strings in the place to which their page was
// unpacked, and converts each dictionary entry to text only once. Begin reading at reader.go.
package parquet
