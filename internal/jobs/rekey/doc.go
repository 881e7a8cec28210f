// Package rekey moves the rows of a table to another table, under new keys, which
// package newkeys makes.
//
// # A run
//
// [Run] is the whole job, whose phases are journalled: the snapshot is taken, the
// files are built, loaded, and verified. Build and load resume where they were, from
// the same snapshot and with the same time. The old table is only read.
package rekey
