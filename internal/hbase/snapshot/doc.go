// Package snapshot reads a snapshot of an HBase table from its files on HDFS,
// with the result that a Scan of the table would give, and without the region
// servers.
//
// # From a name to files
//
// [Open] reads the snapshot's manifest: the table's descriptor of that time
// and, of each region, the names of its store files. A name is a file, a link
// to another region's file, or half of a file of a region that was split or
// merged (file.go). Files move to the archive while a snapshot is read; they
// are looked for at each of their places, and again when one is gone
// (place.go).
//
// # From files to a scan
//
// [Snapshot.Scan] merges the files of one region. Cells come by row, family,
// qualifier, timestamp and type, the last two descending; among cells equal in
// all that, the one with the higher sequence id comes first (merge.go). What
// deletes, versions and lifetimes hide is left out, by the rules of HBase
// 2.6's scanners (visible.go), or nothing is for a raw scan. Cells keep their
// timestamps and tags.
//
// What these rules do not cover is refused by name: families with
// NEW_VERSION_BEHAVIOR, encryption or MOB values, cells with visibility labels
// or access rights.
//
// # Bounds
//
// A scan takes memory for each file of its region: the block that is read, as
// it is in the file and unpacked, and what is read ahead. Nothing is
// allocated for a cell. [Snapshot.Cuts] has several scans read a large region. A manifest is read whole, up to 256 MiB.
//
// A [Snapshot] may be used by several goroutines, a [Scan] by one.
package snapshot
