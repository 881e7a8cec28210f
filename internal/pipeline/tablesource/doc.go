// Package tablesource implements the inputs hbase:TABLE and snapshot:NAME: a snapshot
// of a table that is read from its files, or a table that its region servers scan.
//
// For a table it takes a snapshot, with memstores flushed, and deletes it when
// its [Source] is closed. A named snapshot is only read.
//
// [Files] presents a snapshot to pkg/source as a directory with a file for each
// region, and [Mount] resolves a job's inputs to it. [Planned] is a plan's
// description of a snapshot that several processes read.
//
// [Scanned] is a table that is read by scans; [ScanFiles] presents it in the same
// way. The records are the same, but each region is read at a moment of its own,
// and a region that is split, merged or moved during its scan at several.
//
// HDFS decides which users may read files: on secured clusters only HBase's user may read
// its directory (MasterFileSystem of HBase 2.6.4, hbase.rootdir.perms). [Open] opens one
// file of the snapshot, so that missing permissions are reported before any work.
package tablesource
