// Package profile describes the columns of an input: how many values, NULLs and different values, the least and the greatest, a
// histogram, and the most frequent ones.
//
// A [Tally] counts the records of a part of an input in bounded memory, and [Tally.Merge] adds that of the next part: begin with tally.go.
// What comes out depends on the parts and their order, and not on who counted them. Of all but the frequent values it does not depend on
// the parts either. [Tally.Profile] makes a [Profile], and [Profile.Expect] expectations to start from.
//
// Values of records are in a profile: [Profile.Hide] takes those of a column out.
//
// # What is exact
//
// Counts, lengths, the least and the greatest value, and the bars of histograms are exact. A table for each column has its values with
// their counts; as long as it has room for all of them, they are exact, and so is the number of different values. When it is full, as
// many are taken from each count as the median has, and those that reach 0 go (Misra and Gries, 1982, with room for several at a time):
// a count is too low by what was taken, which is at most 2/[MostValues] of all values. The different values are then estimated
// (HyperLogLog, 2^14 registers: a standard error of 0.81 %).
package profile
