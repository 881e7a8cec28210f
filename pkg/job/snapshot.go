package job

import (
	"context"
	"errors"
	"fmt"

	"bulkload/pkg/loader"
)

// snapshot takes the snapshot that was asked for, once.
func (j *run) snapshot(ctx context.Context) error {
	name := j.o.Snapshot
	j.result.Snapshot = j.st.history.snapshot
	if name == "" || j.st.history.snapshot != "" || j.st.loading {
		return nil
	}
	j.o.Events.phase("snapshot")
	begun := j.st.snapshotting == name
	if err := j.st.record("snapshotting", snapshotRecord{name}, true); err != nil {
		return err
	}
	if begun { // the master may still be at it
		if err := j.c.SnapshotUnderWay(ctx, j.facts.Name, name); err != nil {
			return fail(KindLoad, err)
		}
	}
	err := j.c.Snapshot(ctx, j.facts.Name, name)
	switch {
	case errors.Is(err, loader.ErrSnapshotExists) && begun:
		// The attempt before was stopped when it had asked for it.
	case errors.Is(err, loader.ErrSnapshotExists):
		err = fail(KindConfig, fmt.Errorf("%w: name another, or delete it", err))
		return errors.Join(err, j.st.record("snapshotting", snapshotRecord{}, true)) // it is another's
	case err != nil:
		return fail(KindLoad, err)
	}
	j.result.Snapshot = name
	return j.st.record("snapshot", snapshotRecord{name}, true)
}
