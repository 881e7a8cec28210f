// Package tablesource reads the inputs hbase:TABLE and snapshot:NAME: a snapshot of
// a table that is read from its files, or a table that its region servers scan.
//
// Of a table a snapshot is taken, after a flush of the memstores, and deleted
// when its [Source] is closed. A named snapshot is only read.
//
// [Files] shows it to pkg/source as a directory with a file for each region, and
// [Mount] has a job's inputs lead there. [Planned] is a snapshot as a plan has it,
// which several processes read.
//
// [Scanned] is a table that is read by scans, [ScanFiles] shows it in the same way:
// the records are the same, but each region is read at another moment, and one that
// is split, merged or moved in mid-scan of several.
//
// HDFS decides which users may read files: on secured clusters HBase's directory is its own
// (MasterFileSystem of HBase 2.6.4, hbase.rootdir.perms). [Open] opens one file of
// the snapshot, so that a refusal comes before any work.
package tablesource
