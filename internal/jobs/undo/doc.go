// Package undo removes one finished load from its table, and reports what a load has
// changed.
//
// # How
//
// Every cell of a load has the job's timestamp T. In each row and family of the
// load a delete marker DeleteFamilyVersion(T) hides exactly these cells, and older
// ones become visible again. A raw scan of a snapshot of the table finds the rows.
// The markers are written to HFiles, one for each region and family, which are
// bulk-loaded like the load's own files: with the same staging, and the same
// resolution of lost answers. Each step is recorded in the job's journal before it
// is taken, so the same [Run] resumes after a kill.
//
// # When nothing is lost
//
// [Run] refuses, and changes nothing, unless the [result.Survey] of the snapshot
// proves that:
//
//   - the cells of T are those that the job wrote: rows, cells and digest agree,
//     and no marker hides T yet;
//   - the cells that they overwrote still exist. This holds for cells in files that are
//     as they were loaded: HBase drops cells with too many newer versions only when
//     it writes both into one file. It also holds for cells that a compaction has
//     rewritten if the family keeps at least two versions, and one more for each other
//     timestamp of the table that was undone before. If it has a TTL and MIN_VERSIONS,
//     only these count ([kept]). Where it does not hold, the caller may know that the
//     load has only added rows ([Options.InsertOnly]).
//
// A compaction that does not include the markers counts the load's cells as versions, and drops the cells that they have overwritten, before the
// markers are loaded and after. So if a family keeps too few versions, its files of markers also contain, in addition to each marker, copies of the
// older cells that become visible again. A later undo does not count such a copy as a cell that is as it was loaded ([snapshot.Scan.Loaded]).
// KEEP_DELETED_CELLS is refused there, since the load's cells still count.
//
// At the end the table is read again and compared with the prediction; the first snapshot is kept while it differs.
//
// # Another attempt
//
// Before the first marker is sent the tables are read again, and the prediction is kept, made again or withdrawn. Afterwards the first snapshot is
// used: lost files are written again from it, and loaded again, since loading a marker twice does no harm.
//
// # Several tables
//
// The load of a job of several tables is removed from them in the reverse order of loading: an entry of an index is removed before its row. All
// tables are surveyed, and all refusals determined, before the first marker is written; markers of all are written before the first is loaded. Each
// table is verified before the next one is begun, and the journal records that it is done.
//
// # By a snapshot
//
// A snapshot from before the load can undo any load, including those that markers cannot, but also reverts later writes of others. The
// [snapshot.Snapshot] from before the load and one of the current table are compared column by column as a reader sees them (columns.go), to find the
// losses of others: a restore in place is refused if there are any. Nothing can be written during the decision: the table is out of service then. The
// master executes the request with a nonce only once, so a killed undo repeats it (restoresteps.go). The table is verified by a snapshot that is
// taken before it is in service again.
//
// # T is never used again
//
// A marker hides cells that are written with T later, until a compaction drops it,
// which happens region by region. [checkpoint.NoteUndone] excludes T from further
// jobs of the state directory.
//
// # Bounds
//
// Several goroutines read regions concurrently, each with the memory of a
// [snapshot.Scan] and of one HFile writer. The load's cells of a row are held in
// memory while the row is read.
package undo
