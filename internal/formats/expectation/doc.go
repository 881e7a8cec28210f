// Package expectation checks a job's expectations for the records that it reads: their number, and the values of columns.
//
// [Parse] converts a job file's list to [Check]s. A [Counter] counts for them while records are read, with a [Tally] for each worker.
// Counting a value allocates nothing. The results are [Counts], plain sums: the counts of the parts of an input add up to those of the
// whole input. [Counts.Judge] compares them with the checks, so limits on counts, such as those of rows, nulls and newest_within, may
// change between counting and judging. [Counts.Covers] reports whether the counts suffice for the checks.
//
// Messages never contain values.
package expectation
