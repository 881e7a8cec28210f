// Package newkeys assigns new keys to the rows of a snapshot, and makes HFiles of
// them: each row's new key is made from its columns or from its old key, and all its
// cells get that key and keep their qualifiers, timestamps, versions and tags.
// Package rekey implements the job around it.
//
// # From rows to files
//
// [Build] reads the regions of a [snapshot.Snapshot] as a Scan would return them (read.go), makes keys
// (columns.go), packs the cells of a row into one payload (pack.go) and sorts the rows by region of the new table
// in one memory budget (package extsort). Each region's rows are then merged and written, one HFile for each
// family, by the writers of package build (write.go). Delete markers are applied but not written: an old one
// would hide cells that are loaded later.
//
// Two rows with the same new key are never merged: the build fails, or one of
// the rows is left out as a whole.
//
// # Verification
//
// A [manifest.RowSum] covers a row's cells without its key: a 128-bit sum that
// depends neither on the order of rows nor on their keys. It is computed while the
// snapshot is read, while the files are written, and from a scan of the new table.
package newkeys
