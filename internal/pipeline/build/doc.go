// Package build makes HFiles of inputs in two passes. Pass 1 reads splits of the
// input, makes rows as package cells does, and sorts them by region in one
// memory budget. Pass 2 merges the sorted rows of each region, decides duplicates,
// and has package encode write them into one HFile for each family. [Run] is both; [Directory] is
// all of `bulkload build`; a [Sample] is a build of a part of the input, from which
// an estimate is made.
//
// A build uses file systems, never HBase. It reports by progress.Events, and
// records its finished work in a [Checkpoint], so that another attempt can continue.
// No file gets its final name unless all of the input was read without an
// error. Workers run at the same time; the outcome does not depend on how many.
package build
