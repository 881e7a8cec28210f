// Package bench measures bulkload against what else does its work, on one machine: the least work that the job could be
// (a program next to the checkout, if it is there), HBase's ImportTsv with HBase's own loader, Spark, and the release before.
//
// A [Case] is a few [Tool] values that do the same work. [Measure] runs them in turn, once to warm up and then for a number
// of rounds, and takes from the kernel what each child process used: wall time, user and system CPU, the peak of its resident
// memory. What is reported is the minimum, the median and the maximum, and the ratio to one of the tools: of the medians, with the
// least and the greatest of the ratios within a round. Nothing is asserted: a [Report] is for people and scripts to judge.
//
// [Lab] makes the cases: it generates the data (package data, in a process of its own), builds the programs and starts the
// test cluster when the first case needs it.
//
// # The guard
//
// The cases of [GuardCases] hold today's program to one of an earlier commit, which [Lab] builds of the tree that git gives of
// it, in its own directory, and removes. A [Verdict] says what differs by more than the rounds' noise.
//
// # Peaks of memory
//
// Linux counts into a child's peak what its parent had at the fork, because a new process starts on its parent's memory. So
// the measuring process keeps small, has its own peak forgotten before each child, and notes what it has then (Usage.Hidden):
// peaks at or below that are unknown.
//
// A Lab belongs to one goroutine.
package bench
