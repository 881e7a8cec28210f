// Package bench compares bulkload, on one machine, with other programs that do its work: a program with the minimal work of the
// job (next to the checkout, if it exists), HBase's ImportTsv with HBase's own loader, Spark, and the previous release.
//
// A [Case] is a few [Tool] values that do the same work. [Measure] runs them in turn, once to warm up and then for a number of
// rounds, and reads from the kernel the resources of each child process: wall time, user and system CPU, and the peak of its
// resident memory. It reports the minimum, the median and the maximum, and the ratio to one of the tools: of the medians, with the
// least and the greatest ratio within a round. It asserts nothing: users and scripts judge a [Report].
//
// [Lab] prepares the cases: it generates the data (package data, in a separate process), builds the programs, and starts the test
// cluster when the first case needs it.
//
// # The guard
//
// The cases of [GuardCases] compare today's program with that of an earlier commit. [Lab] builds that program in its own
// directory, from the commit's tree in git, and removes it. A [Verdict] lists the differences that exceed the noise of the rounds.
//
// # Peaks of memory
//
// Linux includes the parent's memory at the fork in a child's peak, because a new process starts with its parent's memory. So the
// measuring process stays small, resets its own peak before each child, and records its memory at that moment (Usage.Hidden):
// peaks at or below that are unknown.
//
// A Lab is not safe for concurrent use.
package bench
