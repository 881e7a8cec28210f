// Package job owns a run: exports in, rows visible in a table.
//
// A [Spec] (the job file) describes what to load; with the table's facts it
// becomes a [Plan], a value that names everything on which the outcome
// depends. [build.Run] turns inputs into HFiles in two passes:
//
//	pass 1, by split:   read, make keys, find regions, sort in memory, spill
//	pass 2, by region:  merge, decide duplicates, write one HFile
//
// [Run] does the same into a staging directory on HDFS, loads the files into
// the table and verifies what became visible.
//
// The outcome depends on inputs, plan and timestamp only: not on the number
// of workers, nor on the memory budget.
package job
