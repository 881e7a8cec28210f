package checkpoint

import "testing"

// TestReadTables: a table that is scanned is known like one with a snapshot until it is over, and leaves nothing to delete.
func TestReadTables(t *testing.T) {
	h := &History{}
	h.read(ReadSnapshotRecord{Place: "hbase:a", Snapshot: "s", Created: 5})
	h.read(ReadSnapshotRecord{Place: "hbase:b", Snapshot: "t", Created: 6})
	h.read(ReadSnapshotRecord{Place: "hbase:b", Scan: &ScanRecord{Began: 7}}) // HDFS has denied its files
	if len(h.Read) != 2 || h.snapshots() != 1 || h.Read["hbase:b"].Scan.Began != 7 {
		t.Errorf("%+v, %d snapshots", h.Read, h.snapshots())
	}
	if err := deleteSnapshot(t.Context(), nil, h.Read["hbase:b"]); err != nil {
		t.Error(err)
	}
	h.read(ReadSnapshotRecord{Place: "hbase:b"})
	h.read(ReadSnapshotRecord{Place: "hbase:a"})
	if len(h.Read) != 0 || h.snapshots() != 0 {
		t.Errorf("%+v, %d snapshots", h.Read, h.snapshots())
	}
}
