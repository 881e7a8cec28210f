// Package newkeys gives the rows of a snapshot new keys, and makes HFiles of them:
// each row's new key is made of its columns or of its old key, and all its cells
// stand under that key, with the qualifiers, timestamps, versions and tags that they
// have. Package rekey is the job around it.
//
// # From rows to files
//
// [Build] reads the regions of a [snapshot.Snapshot] as a Scan would give them
// (read.go), makes keys (columns.go), packs the cells of a row into one payload
// (pack.go) and sorts the rows by region of the new table in one memory budget
// (package extsort). Each region's rows are then merged and written, one HFile
// for each family, by the writers of package build (write.go). Delete markers are applied and none is written: an
// old one would hide what is loaded later.
//
// Two rows of one new key are never merged: the build fails, or the whole row of
// one of them is left out.
//
// # Proofs
//
// A [manifest.RowSum] is of a row's cells without its key: a 128-bit sum that depends
// neither on the order of rows nor on what their keys are. It is made while the
// snapshot is read, while the files are written, and of what a scan of the new
// table gives.
package newkeys
