// Package loader is the HBase client of bulkload: it finds a table's regions, describes its families, creates and deletes
// tables, loads files into regions incrementally, and reads rows.
//
// # The load
//
// [Cluster.Load] makes the same calls as HBase's own tool (org.apache.hadoop.hbase.tool.BulkLoadHFilesTool, 2.6): Prepare,
// which makes a directory under HBase's staging directory and answers with its path, the token; one BulkLoadHFile per
// region, with all files of all families, so that no reader sees half of a row; Cleanup, which deletes the token's
// directory. It differs where that tool can lose data or load it twice:
//
//   - A load is sent once, on a connection of its own, and never repeated automatically. It is sent again only when it is
//     proven that the server did nothing.
//   - When the answer is lost, the files are fenced off: a rename is atomic, so a file that this side can rename was not
//     taken by the server and will not be, and is sent again under its new name; a file that has gone is searched for in the
//     stores. Only an outcome that cannot be resolved is an error, [*UnknownOutcomeError], and the next attempt looks again
//     ([LoadRequest.Unknown]).
//   - Cleanup is not called while a file may be in the token's directory: it would be deleted too.
//   - When the server answers that it did not load, every file is looked for at its source and in the token's directory, and
//     files moved there are moved back. The second such answer ends the load with the possible causes: [*RefusedError].
//     While HDFS is in safe mode, the load waits for its end.
//   - A file whose rows span several regions is cut at all boundaries at once by the caller's [Rewriter], or refused before
//     anything is sent: [*MisfitError].
//   - A table whose store files are kept by the tracker FILE is loaded directly. There a file in the store's directory is
//     not in the table before the region has it in its list, so the region is asked.
//
// The files of one region must not contain equal cells: the files get one sequence number, and it is undefined which of two
// equal cells wins.
//
// # Reading
//
// [Cluster.Scan] returns rows in key order, [Cluster.ScanParallel] each region's rows in order, several regions at a time.
// Rows are parsed in place from the server's cell blocks; the list of a row's cells is borrowed until the callback returns.
//
// # Connections
//
// Of the client library, gohbase, only the lowest layer is used: its region client (one per connection) and its protocol
// messages. Its table client retries without end and resends calls whose answer was lost. All calls have deadlines: those of
// the context and of [Config]. A Cluster may be used by any number of goroutines.
//
// gohbase logs through logrus' standard logger, to standard error by default. [Dial] redirects these lines to the caller's log at level
// debug, for the whole process: the errors returned here have the same information.
package loader
