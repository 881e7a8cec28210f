// Package tablesource has what hbase:TABLE and snapshot:NAME name: a snapshot of
// a table that is read from its files.
//
// Of a table a snapshot is taken, with what is in memory flushed, and deleted
// when its [Source] is closed. A named snapshot is only read.
//
// [Files] shows it to pkg/source as a directory with a file for each region, and
// [Mount] has a job's inputs lead there.
//
// HDFS decides who may read: on secured clusters HBase's directory is its own
// (MasterFileSystem of HBase 2.6.4, hbase.rootdir.perms). [Open] opens one file of
// the snapshot, so that a refusal comes before any work.
package tablesource
