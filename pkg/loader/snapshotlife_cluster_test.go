package loader

import (
	"context"
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

// TestSnapshotOfReadOnlyTable takes a snapshot of a table that was set read-only, with rows that were only in memory before, and has HBase restore it.
func TestSnapshotOfReadOnlyTable(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table, rows := b.loaded(t, 20)
	admin := func(args ...string) {
		t.Helper()
		_, err := b.cluster.AdminT(t).Run(t.Context(), args...)
		testcheck.Must(t, err)
	}
	admin("put", table.String(), "later", "f:q", "v")
	want, err := b.cluster.AdminT(t).Run(t.Context(), "digest", table.String())
	testcheck.Must(t, err)
	admin("attribute", table.String(), "READONLY=true")
	name := "loader_test_" + table.Qualifier
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	testcheck.Must(t, b.Snapshot(ctx, table, name, 0))
	admin("attribute", table.String(), "READONLY=false")
	admin("delete", table.String(), "later")
	b.checkDigest(t, table, rows, "f")
	admin("restore", table.String(), name)
	if got, err := b.cluster.AdminT(t).Run(t.Context(), "digest", table.String()); err != nil || got != want {
		t.Errorf("the restored table has %s, %v; want %s", got, err, want)
	}
}
