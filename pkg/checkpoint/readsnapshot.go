package checkpoint

import (
	"context"
	"errors"
	"maps"
	"slices"

	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/rowkey"
)

// ReadSnapshotRecord is a snapshot that a job has taken of a table, to read it, or
// how it scans the table instead.
type ReadSnapshotRecord struct {
	Input    string      `json:"input"`             // as it was given
	Place    string      `json:"place"`             // by which it is known
	Table    string      `json:"table"`             // as HBase prints it
	Snapshot string      `json:"snapshot"`          // empty: it is gone, or there is none
	Created  int64       `json:"created,omitempty"` // the time of its making, milliseconds
	Scan     *ScanRecord `json:"scan,omitempty"`    // nil: the table is not scanned
}

// ScanRecord is with what a job's scan of a table began.
type ScanRecord struct {
	Began  int64        `json:"began"`      // milliseconds
	State  int64        `json:"state_time"` // of the table, as in [TableRecord]
	Starts []rowkey.Key `json:"starts"`     // the first row of each part
}

// read takes a record into account.
func (h *History) read(r ReadSnapshotRecord) {
	if r.Snapshot == "" && r.Scan == nil {
		delete(h.Read, r.Place)
		return
	}
	if h.Read == nil {
		h.Read = map[string]ReadSnapshotRecord{}
	}
	h.Read[r.Place] = r
}

// DropRead deletes the snapshots through which the job has read tables.
func (st *Job) DropRead(ctx context.Context, c *loader.Cluster) error {
	var errs []error
	for _, place := range slices.Sorted(maps.Keys(st.Read)) {
		r := st.Read[place]
		err := deleteSnapshot(ctx, c, r)
		if err == nil {
			r.Snapshot, r.Created, r.Scan = "", 0, nil
			err = st.Record(EventReadSnapshot, r)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// withCluster connects to the cluster if there is anything to drop.
func withCluster(ctx context.Context, env *cluster.Env, drop func(context.Context, *loader.Cluster) error, n int) error {
	if n == 0 {
		return nil
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return fail.With(fail.Load, drop(ctx, c))
}

// deleteRead deletes the snapshots of a job that is removed.
func (h *History) deleteRead(ctx context.Context, c *loader.Cluster) error {
	var errs []error
	for _, place := range slices.Sorted(maps.Keys(h.Read)) {
		errs = append(errs, deleteSnapshot(ctx, c, h.Read[place]))
	}
	return errors.Join(errs...)
}

func deleteSnapshot(ctx context.Context, c *loader.Cluster, r ReadSnapshotRecord) error {
	if r.Snapshot == "" {
		return nil
	}
	table, err := loader.ParseTableName(r.Table)
	if err != nil {
		return err
	}
	return c.EndSnapshot(ctx, table, r.Snapshot, r.Created)
}
