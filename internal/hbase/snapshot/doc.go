// Package snapshot reads a snapshot of an HBase table from its files on HDFS.
// The result is the same as that of a Scan of the table, but the region servers
// are not involved.
//
// # From a name to files
//
// [Open] reads the snapshot's manifest: the table's descriptor at that time
// and, for each region, the names of its store files. A name denotes a file, a
// link to another region's file, or half of a file of a region that was split
// or merged (file.go). HBase may move a file to the archive while a snapshot is
// read, so a file is searched for in all places where it may be, and again when
// it has disappeared (place.go).
//
// # From files to a scan
//
// [Snapshot.Scan] merges the files of one region. Cells are ordered by row,
// family, qualifier, timestamp and type, the last two descending; among cells
// that are equal in all of these, the one with the higher sequence id comes
// first (merge.go). Cells that are hidden by deletes, versions or lifetimes are
// omitted, by the rules of HBase 2.6's scanners (visible.go); a raw scan omits
// none. Cells keep their timestamps and tags.
//
// Features that these rules do not cover are refused by name: families with NEW_VERSION_BEHAVIOR,
// encryption or MOB values, cells with visibility labels or access rights.
//
// # Bounds
//
// A scan takes memory for each file of its region: the current block, compressed and uncompressed, and the read-ahead
// buffer. It does not allocate per cell. [Snapshot.Cuts] lets several scans read a large region. A manifest is read
// whole, up to 256 MiB.
//
// A [Snapshot] is safe for concurrent use, a [Scan] is not.
package snapshot
