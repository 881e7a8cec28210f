// Package cells makes a row key and cells of a record. A [Plan] has the job's settings for that: the key, the slots that become cells, their families
// and times. A [RowMaker] makes the rows of records as a plan says, in the form in which they are sorted; [RowTime] and [RowForm] read that form.
// A [Filter] says which records have rows, and a [KeyMaker] how the key of one record comes about.
//
// Begin with plan.go and rowmaker.go. The package reads no files and writes none.
package cells
