// Package data generates exports for measurements: rows like those of the tables check and opinion, in every form that a
// loader reads.
//
// A [Spec] defines the rows, a [Form] their format. A Spec gives the same rows in the same order in every form, so a CSV
// and a dump of one Spec can be compared. It gives the same bytes in every run, so a file can be cached by its parameters
// ([WriteFile]). Rows are generated one at a time in one buffer: fifty million of them need no more memory than ten.
//
// A [Generator] is not safe for concurrent use.
package data
