package job

import (
	"context"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
)

// RecordSnapshot returns the job's own snapshot of r's place. If there is none it records r, with a new name if r has no name.
func RecordSnapshot(st *checkpoint.Job, table loader.TableName, r checkpoint.ReadSnapshotRecord) (checkpoint.ReadSnapshotRecord, error) {
	if known, ok := st.OwnSnapshots[r.Place]; ok {
		return known, nil
	}
	if r.Table = table.String(); r.Conf == "" {
		r.Cluster = st.Cluster
	}
	if r.Snapshot == "" {
		now := time.Now()
		r.Snapshot, r.Created = tablesource.NewName(table, now), now.UnixMilli()
	}
	return r, st.Record(checkpoint.EventReadSnapshot, r)
}

// OpenSnapshot opens the files of the job's own snapshot of a place, and takes the snapshot of the table if it does not exist.
// [checkpoint.Job.DropSnapshots] deletes it.
func OpenSnapshot(ctx context.Context, env *cluster.Env, st *checkpoint.Job, table loader.TableName, place string) (*tablesource.Source, error) {
	r, err := RecordSnapshot(st, table, checkpoint.ReadSnapshotRecord{Place: place})
	if err != nil {
		return nil, err
	}
	return tablesource.Open(ctx, env, tablesource.Ref{Table: table}, tablesource.Options{Name: r.Snapshot, Created: r.Created, Keep: true, FilesOnly: true})
}
