package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// ReadSnapshotRecord describes a snapshot that a job takes of a table for itself and deletes when nothing reads it any more, or the job's scan of the
// table instead. It is recorded before the snapshot is requested from the master.
type ReadSnapshotRecord struct {
	Input    string      `json:"input"`             // as it was given; empty: the table is not an input
	Place    string      `json:"place"`             // key of the snapshot in the history
	Table    string      `json:"table"`             // as HBase prints it
	Snapshot string      `json:"snapshot"`          // empty: it was deleted, or there is none
	Created  int64       `json:"created,omitempty"` // creation time, milliseconds
	Conf     string      `json:"conf,omitempty"`    // configuration directory of its cluster; empty: the job's cluster
	Cluster  string      `json:"cluster,omitempty"` // id of the job's cluster, if the snapshot is there
	Scan     *ScanRecord `json:"scan,omitempty"`    // nil: the table is not scanned
}

// ScanRecord describes the beginning of a job's scan of a table.
type ScanRecord struct {
	Began  int64        `json:"began"`      // milliseconds
	State  int64        `json:"state_time"` // state time of the table, as in [TableRecord]
	Starts []rowkey.Key `json:"starts"`     // the first row of each part
}

// Places of a job's own snapshots, except for those of inputs.
const (
	PlaceCompared = "compared" // of the table that an export replaces
	PlaceRekeyed  = "rekeyed"  // of the table whose rows get new keys
	PlaceExported = "exported" // of the table that is exported
	PlaceA        = "side a"   // of a comparison
	PlaceB        = "side b"
	PlaceRestored = "restored" // of the table that an undo has restored, before it is in service
)

// PlaceUndone returns the place of the snapshot from which an undo reads a table, given by its number in loading order.
func PlaceUndone(number int) string { return fmt.Sprintf("undone %d", number) }

// own applies a record.
func (h *History) own(r ReadSnapshotRecord) {
	if r.Snapshot == "" && r.Scan == nil {
		delete(h.OwnSnapshots, r.Place)
		return
	}
	h.OwnSnapshots[r.Place] = r
}

// ownPlaces returns the places of the job's own snapshots whose records satisfy which.
func (h *History) ownPlaces(which func(ReadSnapshotRecord) bool) []string {
	var places []string
	for _, place := range slices.Sorted(maps.Keys(h.OwnSnapshots)) {
		if which(h.OwnSnapshots[place]) {
			places = append(places, place)
		}
	}
	return places
}

// InputPlaces returns the places of the snapshots through which the job reads input tables.
func (h *History) InputPlaces() []string {
	return h.ownPlaces(func(r ReadSnapshotRecord) bool { return r.Input != "" })
}

// snapshots returns the places of all own snapshots that may exist.
func (h *History) snapshots() []string {
	return h.ownPlaces(func(r ReadSnapshotRecord) bool { return r.Snapshot != "" })
}

// DropSnapshots deletes the job's own snapshots of the given places, including those that the master is still taking for a killed process, and
// records each deletion. A place without a snapshot is not an error.
func (st *Job) DropSnapshots(ctx context.Context, c *loader.Cluster, places ...string) error {
	if err := st.Check(ctx); err != nil {
		return err
	}
	var errs []error
	for _, place := range places {
		r, there := st.OwnSnapshots[place]
		if !there {
			continue
		}
		err := deleteSnapshot(ctx, c, r)
		if err == nil {
			err = st.ForgetSnapshot(place)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ForgetSnapshot records that the snapshot of a place no longer belongs to the job: it was deleted, or left to a person.
func (st *Job) ForgetSnapshot(place string) error {
	r, there := st.OwnSnapshots[place]
	if !there {
		return nil
	}
	r.Snapshot, r.Created, r.Scan = "", 0, nil
	return st.Record(EventReadSnapshot, r)
}

// DropAllSnapshots calls [Job.DropSnapshots] for all places, each on its cluster; env is the job's.
func (st *Job) DropAllSnapshots(ctx context.Context, env *cluster.Env) error {
	var errs []error
	for _, place := range st.snapshots() {
		errs = append(errs, st.OwnSnapshots[place].onCluster(ctx, env, func(ctx context.Context, c *loader.Cluster) error { return st.DropSnapshots(ctx, c, place) }))
	}
	return errors.Join(errs...)
}

// onCluster calls do with a connection to the snapshot's cluster. env is the job's.
func (r ReadSnapshotRecord) onCluster(ctx context.Context, env *cluster.Env, do func(context.Context, *loader.Cluster) error) error {
	if r.Conf == "" {
		return withCluster(ctx, env, do, 1)
	}
	other, err := env.Other(r.Conf)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	return errors.Join(withCluster(ctx, other, do, 1), other.Close())
}

// withCluster connects to the cluster and calls drop, unless n is 0.
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

func deleteSnapshot(ctx context.Context, c *loader.Cluster, r ReadSnapshotRecord) error {
	if r.Snapshot == "" {
		return nil
	}
	table, err := loader.ParseTableName(r.Table)
	if err == nil {
		err = c.EndSnapshot(ctx, table, r.Snapshot, r.Created)
	}
	if err != nil {
		return fmt.Errorf("%w: delete it by hand: delete_snapshot '%s'", err, r.Snapshot)
	}
	return nil
}
