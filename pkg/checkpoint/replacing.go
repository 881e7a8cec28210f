package checkpoint

import (
	"context"
	"fmt"

	"bulkload/pkg/loader"
	"bulkload/pkg/result"
)

// ReplacedRecord is what a load takes away from its table, and the files by which.
type ReplacedRecord struct {
	Replace *result.Replace `json:"replace"`
	Files   []loader.HFile  `json:"files"`
}

// EndReplacing deletes the snapshot that an earlier attempt has compared its export
// with, as [Job.DropReplacing], also one that the master is still taking.
func (st *Job) EndReplacing(ctx context.Context, c *loader.Cluster, table loader.TableName) error {
	r := st.Replacing
	if r.Snapshot == "" {
		return nil
	}
	if st.History.Replace == nil { // it may not be complete
		if err := c.EndSnapshot(ctx, table, r.Snapshot, r.Created); err != nil {
			return err
		}
	}
	return st.DropReplacing(ctx, c, table)
}

// DropReplacing deletes the snapshot that an export was compared with, and notes that it is gone.
func (st *Job) DropReplacing(ctx context.Context, c *loader.Cluster, table loader.TableName) error {
	if st.Replacing.Snapshot == "" {
		return nil
	}
	if err := st.deleteReplacing(ctx, c, table); err != nil {
		return err
	}
	return st.Record(EventReplacing, SnapshotRecord{})
}

func (h *History) deleteReplacing(ctx context.Context, c *loader.Cluster, table loader.TableName) error {
	if err := c.DeleteSnapshot(ctx, table, h.Replacing.Snapshot); err != nil {
		return fmt.Errorf("%w: delete it by hand: delete_snapshot '%s'", err, h.Replacing.Snapshot)
	}
	return nil
}

// snapshots is how many snapshots of the job there may be.
func (h *History) snapshots() int {
	n := 0
	for _, r := range h.Read {
		if r.Snapshot != "" {
			n++
		}
	}
	if h.Replacing.Snapshot != "" {
		n++
	}
	return n
}

// dropSnapshots deletes all snapshots of a job that begins again.
func (st *Job) dropSnapshots(ctx context.Context, c *loader.Cluster) error {
	if st.Replacing.Snapshot != "" {
		table, err := st.compared()
		if err != nil {
			return err
		}
		if err := st.EndReplacing(ctx, c, table); err != nil {
			return err
		}
	}
	return st.DropRead(ctx, c)
}

// deleteSnapshots deletes the snapshots of a job that is removed.
func (h *History) deleteSnapshots(ctx context.Context, c *loader.Cluster) error {
	if h.Replacing.Snapshot != "" {
		table, err := h.compared()
		if err != nil {
			return err
		}
		if err := h.deleteReplacing(ctx, c, table); err != nil {
			return err
		}
	}
	return h.deleteRead(ctx, c)
}

// compared is the table with which the export is compared: the job's, or the one
// whose place that takes.
func (h *History) compared() (loader.TableName, error) {
	if h.Fresh != nil {
		return loader.ParseTableName(h.Fresh.From)
	}
	return loader.ParseTableName(h.Plan.Table)
}
