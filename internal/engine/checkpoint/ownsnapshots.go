package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
)

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
	return st.Record(history.EventReadSnapshot, r)
}

// DropAllSnapshots calls [Job.DropSnapshots] for all places, each on its cluster; env is the job's.
func (st *Job) DropAllSnapshots(ctx context.Context, env *cluster.Env) error {
	var errs []error
	for _, place := range st.SnapshotPlaces() {
		errs = append(errs, onClusterOf(ctx, env, st.OwnSnapshots[place], func(ctx context.Context, c *loader.Cluster) error { return st.DropSnapshots(ctx, c, place) }))
	}
	return errors.Join(errs...)
}

// onClusterOf calls do with a connection to the snapshot's cluster. env is the job's.
func onClusterOf(ctx context.Context, env *cluster.Env, r history.ReadSnapshotRecord, do func(context.Context, *loader.Cluster) error) error {
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

func deleteSnapshot(ctx context.Context, c *loader.Cluster, r history.ReadSnapshotRecord) error {
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
