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
//   - A load is sent once, on a connection of its own, and never again by itself. It is sent again only after an answer
//     that proves that nothing was done.
//   - When the answer is lost, the outcome is unknown: [*UnknownOutcomeError] says so, nothing is retried, and Cleanup is
//     not called, since a file that still lies in the token's directory would die with it.
//   - When the server answers that it did not load, every file is looked for at its source and in the token's directory,
//     and what was moved there is moved back: [*RefusedError].
//   - A file whose rows do not lie in one region is refused before anything is sent: [*MisfitError].
//
// Files of one region must hold no equal cells twice: they get one sequence number and which of them wins is undefined.
//
// # Reading
//
// [Cluster.Scan] gives rows in key order, [Cluster.ScanParallel] each region's rows in order, several regions at a time.
// Rows are parsed in place from the server's cell blocks; a row and all its slices are borrowed until the callback returns.
//
// # Connections
//
// The client library is gohbase, of which only the wire is used: its region client (one per connection), its protocol
// messages. Its table client retries without end and resends calls whose answer was lost. All calls have deadlines: the
// context's and the ones in [Config]. A Cluster may be used by any number of goroutines.
//
// gohbase logs through logrus' standard logger, to standard error by default. [Dial] sends that logger's output nowhere,
// for the whole process: what it would say is in the errors returned here.
package loader
