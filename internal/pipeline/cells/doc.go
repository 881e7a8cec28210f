// Package cells makes a row key and cells from a record. A [Plan] holds the settings of a job that determine them: the key, the slots that become
// cells, their families and times. A [RowMaker] makes the rows of records by a plan, in the form in which they are sorted; [RowTime] and
// [RowForm] read that form. A [Filter] decides which records have rows, and a [KeyMaker] explains how the key of a record is made.
//
// Begin with plan.go and rowmaker.go. The package does no file I/O.
package cells
