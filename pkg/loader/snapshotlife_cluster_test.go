package loader

import (
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestSnapshotOutlivesSite takes a snapshot where the site gives snapshots a lifetime, with a creation time that is longer ago, and has HBase restore it.
func TestSnapshotOutlivesSite(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Own(t, testcluster.Guarded())
	b := newBenchOn(t, cluster, nil)
	table, rows := b.loaded(t, 20)
	name := "loader_test_" + table.Qualifier
	testcheck.Must(t, b.Snapshot(t.Context(), table, name, time.Now().Add(-2*testcluster.SnapshotLife).UnixMilli()))
	_, err := cluster.AdminT(t).Run(t.Context(), "restore", table.String(), name)
	testcheck.Must(t, err)
	b.checkDigest(t, table, rows, "f")
}
