package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
)

// snapshot takes the snapshot that was asked for, once.
func (j *run) snapshot(ctx context.Context) error {
	name := j.o.Snapshot
	j.result.Snapshot = j.st.History.Snapshot
	if name == "" || j.st.History.Snapshot != "" || j.st.AnyLoading() {
		return nil
	}
	j.o.Events.Phase("snapshot")
	begun := j.st.Snapshotting
	now := checkpoint.SnapshotRecord{Snapshot: name, Created: time.Now().UnixMilli()}
	if begun.Snapshot == name && begun.Created != 0 {
		now.Created = begun.Created
	}
	if err := j.st.Record(checkpoint.EventSnapshotting, now); err != nil {
		return err
	}
	if begun.Snapshot == name { // the master may still be at it
		if err := j.c.SnapshotUnderWay(ctx, j.facts.Name, name); err != nil {
			return fail.With(fail.Load, err)
		}
	}
	err := j.c.Snapshot(ctx, j.facts.Name, name, now.Created)
	if errors.Is(err, loader.ErrSnapshotExists) && begun.Snapshot == name {
		own, timeErr := j.ownSnapshot(ctx, begun)
		if timeErr != nil {
			return fail.With(fail.Load, timeErr)
		}
		if own {
			err = nil
		}
	}
	switch {
	case errors.Is(err, loader.ErrSnapshotExists):
		err = fail.With(fail.Config, fmt.Errorf("%w, and this job did not take it: name another, or delete it", err))
		return errors.Join(err, j.st.Record(checkpoint.EventSnapshotting, checkpoint.SnapshotRecord{})) // it is another's
	case err != nil:
		return fail.With(fail.Load, err)
	}
	j.result.Snapshot = name
	return j.st.Record(checkpoint.EventSnapshot, checkpoint.SnapshotRecord{Snapshot: name})
}

// snapshotSkew is how far the clocks of the master and of an earlier attempt's
// machine may be apart.
const snapshotSkew = 5 * time.Minute

// ownSnapshot reports whether the snapshot that there is was taken by an earlier
// attempt, which was stopped when it had asked for it. It has the time that the
// attempt gave it; journals of older versions have none, and what is older
// than their record is another's.
func (j *run) ownSnapshot(ctx context.Context, begun checkpoint.SnapshotRecord) (bool, error) {
	created, ok, err := j.c.SnapshotTime(ctx, j.facts.Name, begun.Snapshot)
	if err != nil || !ok {
		return false, err
	}
	if begun.Created == 0 {
		return created >= begun.At.Add(-snapshotSkew).UnixMilli(), nil
	}
	return created == begun.Created, nil
}
