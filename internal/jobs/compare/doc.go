// Package compare compares two tables row by row: tables, snapshots, directories of HFiles, and exports that are read by a job file.
//
// Each side gives its cells in HBase's order: a snapshot by its files, a table that is scanned by its region servers, an export by
// HFiles that are built on local disk and removed at the end. The rows are divided into ranges (ranges.go). Several ranges are
// read at a time. In each range the cells of both sides are merged (join.go): what only one side has, or both have with other
// values, is a difference. Nothing is held of a range but a cell of each side, and of a row that differs its listed cells.
//
// [Run] is a job with a journal: a range that was compared is recorded, so that the same command resumes after a crash. [Request.Repair]
// loads into B what it lacks, with delete markers for what A lacks, as a separate job (repair.go), and compares again.
package compare
