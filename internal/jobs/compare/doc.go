// Package compare compares two tables row by row: tables, snapshots, directories of HFiles, and exports that are read by a job file.
//
// Each side returns its cells in HBase's order: a snapshot reads its files, a scanned table its region servers, and an export the HFiles that are
// built on local disk and removed at the end. The rows are divided into ranges (side.go), and several ranges are read concurrently. In each range
// the cells of both sides are merged (join.go): a cell that only one side has, or that has different values, is a difference. Memory holds one cell
// of each side, and the listed cells of a row that differs.
//
// [Run] is a job with a journal: it records each compared range, so that the same command resumes after a crash. [Request.Repair] loads the cells
// that B lacks into B, with delete markers for cells that A lacks, as a job of its own (repair.go), and compares again.
package compare
