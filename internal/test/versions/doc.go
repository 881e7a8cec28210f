// Package versions has tests only: they run the built program on a cluster of each version of HBase, and of HDFS, that
// [bulkload/internal/test/testcluster] can start, in sequence. On each they create and split tables, run, kill and resume the main job,
// split regions between build and load, find the cluster by its RPC registry, and read rows. HBase's own client of that version is the
// judge. docs/compatibility.md has the results.
//
// BULKLOAD_TEST_VERSIONS lists the versions, separated by commas, with the version of HDFS after "@" where it is not the default; "all"
// stands for those that docs/compatibility.md lists as proven.
package versions
