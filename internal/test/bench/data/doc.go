// Package data makes exports for measurements: rows like those of the tables check and opinion, in every form that a loader
// reads.
//
// A [Spec] says which rows, a [Form] how they are written. The same Spec gives the same rows in the same order whatever the
// form is, so a CSV and a dump of one Spec can be compared, and the same bytes in every run, so a file can be kept by its
// parameters ([WriteFile]). Rows come one at a time out of one buffer: fifty million of them need no more memory than ten.
//
// A [Generator] belongs to one goroutine.
package data
