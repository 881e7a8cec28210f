// Package profile describes the columns of an input: the numbers of values, NULLs and different values, the least and the greatest value, a
// histogram, and the most frequent values.
//
// A [Tally] counts the records of a part of an input in bounded memory, and [Tally.Merge] adds the tally of the next part: begin with tally.go.
// The result does not depend on which worker counted a part. The frequent values depend on how the input is divided into parts; everything
// else does not. [Tally.Profile] makes a [Profile], and [Profile.Expect] proposes expectations.
//
// A profile contains values of records: [Column.Hide] removes those of a column.
//
// # What is exact
//
// Counts, lengths, the least and the greatest value, and the bars of histograms are exact. A table for each column holds its values with
// their counts. As long as it has room for all of them, these counts are exact, and so is the number of different values. When the table is
// full, the median count is subtracted from each count, and values whose count reaches 0 are dropped (Misra and Gries, 1982, but many values
// at a time). A count is then too low by at most the sum of the subtracted counts, which is at most 2/[MaxValues] of all values, and the
// number of different values is estimated (HyperLogLog, 2^14 registers: a standard error of 0.81 %).
package profile
