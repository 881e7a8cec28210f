// Package expectation holds what a job expects of the records that it reads: how many there are, and what the values of a column are.
//
// [Parse] makes [Check]s of a job file's list. A [Counter] counts what they need while records are read, a [Tally] for each worker:
// a value costs no allocation. What comes out are [Counts], plain sums: those of the parts of an input add up to those of all of it.
// [Counts.Judge] compares them with the checks. So bounds may change between counting and judging, and
// [Counts.Covers] reports whether the counts suffice for the checks.
//
// Messages never contain values.
package expectation
