// Package export writes the rows of a snapshot into files: CSV and text of other
// dialects, dumps, Parquet and JSON lines.
//
// # From cells to records
//
// [Compile] makes a [Plan] of a request: with a job its columns, by the
// mapping turned around (columns.go), so that the job reads from the files what it
// has once loaded; without one the row key and the cells that are named. A row is
// one record: the newest version of each column, as a Scan of these columns gives
// it. A row that has none of them is left out.
//
// A cell that is not there and one without a byte stay apart. Which of both NULL
// and an empty text stand for follows from what the job makes of them, and from
// whether the format has NULL. What a format or the job cannot bring back is
// refused with the row's place: no file is written that would be read as something else.
//
// # From records to files
//
// [Plan.Write] reads regions with several workers. Each worker writes one file
// at a time, part-NNNNN with the region's ordinal. A file is written below
// _writing and renamed when it is whole. [ManifestName] comes last: a directory
// with it is complete. After an error nothing is left.
//
// # Bounds
//
// The memory of all workers is [Options.Memory]: what is read ahead of store
// files, one row, and of Parquet a row group. Nothing is allocated for a row or a
// cell, but for decimals.
package export
