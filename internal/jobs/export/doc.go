// Package export writes the rows of a snapshot into files: CSV and text of other
// dialects, dumps, Parquet and JSON lines.
//
// # From cells to records
//
// [Compile] makes a [Plan] from the options. With a job, the columns are those of the
// job, and its mapping is inverted (columns.go), so the job can load the files again.
// Without a job, they are the row key and the named cells. A row becomes one record:
// the newest version of each column, as a Scan of these columns returns it. A row with
// none of the columns is left out.
//
// A missing cell and an empty one are distinguished. Whether they are written as NULL
// or as an empty text depends on the job's settings, and on whether the format has NULL.
// A value that the format or the job could not read back unchanged is an error that
// names its row: no file is written that would be read as something else.
//
// # From records to files
//
// [Plan.Write] reads regions with several workers. Each worker writes one file at a
// time, part-NNNNN with the region's ordinal. A file is written below _writing and
// renamed when it is complete. [ManifestName] is written last, so a directory that has
// it is complete. After an error no files are left, unless a job with a state directory
// can resume from them.
//
// # Bounds
//
// [Options.Memory] bounds the memory of all workers: read-ahead of store files, one
// row, and for Parquet a row group. There are no allocations per row or cell,
// except for decimals.
package export
