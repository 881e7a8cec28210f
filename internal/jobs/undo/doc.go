// Package undo takes one finished load out of its table again, and reports what a
// load has changed.
//
// # How
//
// Every cell of a load has the job's timestamp T. In each row and family of it a
// delete marker DeleteFamilyVersion(T) hides just those cells, and older ones are
// seen as before. The rows are found by a raw reading of a snapshot of the table;
// the markers go into HFiles, one for each region and family, which are
// bulk-loaded as the load's own were: with the same staging, and the same
// resolution of answers that are lost. Each step is in the job's journal before
// it is taken, so the same [Run] resumes after a kill.
//
// # When nothing is lost
//
// [Run] refuses, and changes nothing, unless the [result.Survey] of the snapshot
// proves it:
//
//   - the cells of T are those that the job wrote: rows, cells and digest agree,
//     and no marker hides T yet;
//   - what they overwrote is still there. That holds for cells in files that are
//     as they were loaded: HBase drops what has too many newer versions only when
//     it writes both into one file. It holds for cells that a compaction has
//     written again too if the family keeps at least two versions, and one more
//     for each other timestamp of the table that was undone before. Where it does
//     not hold, the caller may know that the load has only added rows
//     ([Options.InsertOnly]).
//
// A compaction without the markers among its files counts the load's cells as versions, and drops what they have
// overwritten: before the markers are loaded, and after. So where a family keeps too few versions its files of markers have,
// in addition to each marker, the older cells that are seen again, as the snapshot has them. A later undo takes no such copy for a cell that
// is as it was loaded ([snapshot.Scan.Loaded]). KEEP_DELETED_CELLS is refused there: the load's cells count on.
//
// The table is read once more at the end and compared with the prediction; the first snapshot is kept while it differs.
//
// # Another attempt
//
// Before the first marker is sent the tables are read again, and what was predicted is kept, made again or withdrawn. From then on the first
// snapshot holds: files that are lost are written again of it, and loaded again, since a marker that is loaded twice does no harm.
//
// # Several tables
//
// The load of a job of several tables is taken out of them in the reverse order of loading: an entry of an index is gone before
// its row. All tables are surveyed, and all refusals known, before the first marker is written; markers of all are written
// before the first is loaded. Each table is verified before the next one is begun, and the journal has that it is done.
//
// # By a snapshot
//
// A snapshot from before the load takes back what markers cannot, of any load, and with it what others have written since. [snapshot.Snapshot] of before and
// of now are compared column by column as a reader sees them (columns.go), which says what others lose: a restore in place is refused for it. Nothing is written
// while it is decided: the table is out of service then. The master does the request of a nonce once, so a killed undo repeats it
// (restoresteps.go). The table is verified by a snapshot that is taken before it is in service again.
//
// # T is never used again
//
// A marker hides what is written with T later, until a compaction drops it, which
// it does region by region. [checkpoint.NoteUndone] keeps T from further jobs of
// the state directory.
//
// # Bounds
//
// Regions are read by some goroutines at a time, each with the memory of a
// [snapshot.Scan] and of one HFile writer. A row's cells of the load are held
// while the row is read.
package undo
