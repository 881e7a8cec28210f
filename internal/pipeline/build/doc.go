// Package build creates HFiles from inputs in two passes. Pass 1 reads splits of the input, makes
// rows with package cells, and sorts them by region within one memory budget. Pass 2 merges the
// sorted rows of each region, resolves duplicates, and writes them with package encode into one
// HFile for each family. [RunTables] runs both passes; [Directory] implements `bulkload build`; a
// [Sample] is a build of a part of the input, on which an estimate is based.
//
// A build accesses file systems, never HBase. It reports progress with progress.Events
// and records finished work with a [Checkpoint], so that another attempt can resume.
// No file has a final name unless the whole input was read without an error. Workers
// run concurrently; the outcome does not depend on their number.
package build
