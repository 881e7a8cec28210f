// Package export writes the rows of a snapshot into files: CSV and text of other
// dialects, dumps, Parquet and JSON lines.
//
// # From cells to records
//
// [Compile] makes a [Plan] from the options. With a job the columns are the job's,
// by the inverse of its mapping (columns.go), so that the job can read the files
// that it has once loaded. Without a job they are the row key and the named cells.
// A row is one record: the newest version of each column, as a Scan of these
// columns returns it. A row with none of the columns is left out.
//
// A missing cell and an empty one are distinguished. How NULL and an empty text
// represent them depends on the job's settings, and on whether the format has NULL.
// A value that the format or the job cannot read back is refused, with its row: no
// file is written that would be read as something else.
//
// # From records to files
//
// [Plan.Write] reads regions with several workers. Each worker writes one file at a
// time, part-NNNNN with the region's ordinal. A file is written below _writing and
// renamed when it is complete. [ManifestName] is written last: a directory with it
// is complete. After an error nothing is left.
//
// # Bounds
//
// [Options.Memory] bounds the memory of all workers: read-ahead of store files, one
// row, and for Parquet a row group. There are no allocations per row or cell,
// except for decimals.
package export
