// Package loader talks to HBase: where a table's regions are, how its families are set up, tables made and dropped, files
// brought into regions by incremental load, rows read back.
//
// # The load
//
// [Cluster.Load] has the conversation that HBase's own tool has (org.apache.hadoop.hbase.tool.BulkLoadHFilesTool, 2.6):
// Prepare, which makes a directory under HBase's staging directory and answers with its path, the token; one BulkLoadHFile
// per region, with all files of all families, so that no reader sees half of a row; Cleanup, which deletes the token's
// directory. It differs where that tool can lose data or load it twice:
//
//   - A load is sent once, on a connection of its own, and never again by itself. It is sent again only when it is proven
//     that nothing was done.
//   - When the answer is lost, the files are fenced off: a rename is atomic, so a file that this side can rename was not
//     taken and will not be, and is sent again under its new name; one that has gone is looked for in the stores. Only what
//     cannot be resolved is an error, [*UnknownOutcomeError], and the next attempt looks again ([LoadRequest.Unknown]).
//   - Cleanup is not called while a file may be in the token's directory: it would die with it.
//   - When the server answers that it did not load, every file is looked for at its source and in the token's directory,
//     and what was moved there is moved back. The second such answer ends the load with what may be the cause:
//     [*RefusedError].
//   - A file whose rows are not in one region is cut at all boundaries at once by the caller's [Rewriter], or refused
//     before anything is sent: [*MisfitError].
//   - A table whose store files are kept by the tracker FILE is loaded directly. There a file in the store's directory is
//     not in the table before the region has it in its list, so the region is asked.
//
// Files of one region must hold no equal cells twice: they get one sequence number and which of them wins is undefined.
//
// # Reading
//
// [Cluster.Scan] gives rows in key order, [Cluster.ScanParallel] each region's rows in order, several regions at a time.
// Rows are parsed in place from the server's cell blocks; the list of a row's cells is borrowed until the callback returns.
//
// # Connections
//
// Only the lowest layer of the client library, gohbase, is used: its region client (one per connection), its protocol
// messages. Its table client retries without end and resends calls whose answer was lost. All calls have deadlines: the
// context's and the ones in [Config]. A Cluster may be used by any number of goroutines.
//
// gohbase logs through logrus' standard logger, to standard error by default. [Dial] has its lines go to the caller's log at level debug,
// for the whole process: what it would say is in the errors returned here.
package loader
