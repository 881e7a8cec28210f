// Package mutants judges the tests: it puts one mistake at a time into the code and says which test finds it. testdata/list.txt has
// the mistakes, which would lose or corrupt data. The checkout is not changed: Go's -overlay gives the compiler the changed file.
//
// A mutant of the list is a file with a few words, the lines that it takes out, and those that it puts in their place:
//
//	pkg/hfile/cell.go: newer cells come last
//	-	return cmp.Compare(b.Timestamp, a.Timestamp)
//	+	return cmp.Compare(a.Timestamp, b.Timestamp)
//	test: ./pkg/hfile TestOrder
//	cluster: ./pkg/loader TestLoad
//
// The lines stand one after the other in the file, and at one place only. The tests are those of the file's package that need no
// cluster, or what a line test names: a package, and a regular expression for -run. A line cluster names the test of a mistake that shows on
// a cluster alone; it runs when no other does, since such tests build programs into the checkout's directory build. These are the mutant's until
// a test builds them again.
package mutants
