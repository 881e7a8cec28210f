// Package versions has tests only: the built program on a cluster of each version of HBase, and of HDFS, that
// [bulkload/internal/test/testcluster] can start, one after the other. On each, tables are made and split, the main job is run, killed and
// resumed, regions split between build and load, the cluster found by its RPC registry, and rows read; HBase's own client of that
// version is the judge. docs/compatibility.md has the results.
//
// BULKLOAD_TEST_VERSIONS names the versions, with commas, that of HDFS after "@" where it is another than the usual one; "all" are those
// that docs/compatibility.md lists as proven.
package versions
