// Package rekey moves the rows of a table to another table, under new keys, which
// package newkeys makes.
//
// # A run
//
// [Run] is the whole job, whose phases are journalled: it takes the snapshot,
// builds the files, loads and verifies them. Build and load are resumed from the
// same snapshot and with the same time. The old table is only read.
package rekey
