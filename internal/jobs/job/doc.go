// Package job runs the jobs that load exports into tables.
//
// A [Spec] (the job file) describes what to load. With the table's facts it becomes
// a [Plan], which contains everything that the outcome depends on. [build.Run]
// turns inputs into HFiles in two passes:
//
//	pass 1, by split:   read, make keys, find regions, sort in memory, spill
//	pass 2, by region:  merge, decide duplicates, write one HFile
//
// [Run] does the same into a staging directory on HDFS, loads the files into the
// table and verifies the visible rows.
//
// The outcome depends only on inputs, plan and timestamp: not on the number of
// workers or the memory budget.
package job
