// Package mutants tests the tests: it adds one mistake at a time to the code and reports the test that finds it. testdata/list.txt has the
// mistakes, which would lose or corrupt data. The checkout is not changed: Go's -overlay gives the compiler the changed file.
//
// A mutant of the list is a file with a short description, the lines that it removes, and their replacements:
//
//	pkg/hfile/cell.go: newer cells come last
//	- return cmp.Compare(b.Timestamp, a.Timestamp)
//	+ return cmp.Compare(a.Timestamp, b.Timestamp)
//	test: ./pkg/hfile TestOrder
//	cluster: ./pkg/loader TestLoad
//
// The removed lines must be consecutive in the file, and occur only once. The tests are those of the file's package that need no cluster, or
// those of a line test: a package, and a regular expression for -run. A line cluster names the test of a mistake that only a cluster reveals.
// That test runs while no other does, since such tests build programs into the checkout's directory build. These programs contain the mutant
// until a test builds them again.
package mutants
