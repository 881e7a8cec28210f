package job

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// snapshot takes the requested snapshot, once.
func (j *run) snapshot(ctx context.Context) error {
	name := j.options.Snapshot
	j.result.Snapshot = j.job.History.Snapshot
	if name == "" || j.job.History.Snapshot != "" || j.job.AnyLoading() {
		j.noSnapshot()
		return nil
	}
	j.options.Events.Phase("snapshot")
	begun := j.job.Snapshotting
	now := history.SnapshotRecord{Snapshot: name, Created: time.Now().UnixMilli()}
	if begun.Snapshot == name && begun.Created != 0 {
		now.Created = begun.Created
	}
	if err := j.job.Record(history.EventSnapshotting, now); err != nil {
		return err
	}
	if begun.Snapshot == name { // the master may still be taking it
		if err := j.cluster.SnapshotUnderWay(ctx, j.facts.Name, name); err != nil {
			return fail.With(fail.Load, err)
		}
	}
	err := j.cluster.Snapshot(ctx, j.facts.Name, name, now.Created)
	if errors.Is(err, loader.ErrSnapshotExists) {
		own, _, timeErr := ownSnapshot(ctx, j.cluster, name, begun)
		if timeErr != nil {
			return fail.With(fail.Load, timeErr)
		}
		if own {
			err = nil
		}
	}
	switch {
	case errors.Is(err, loader.ErrSnapshotExists):
		return errors.Join(snapshotExists(name), j.job.Record(history.EventSnapshotting, history.SnapshotRecord{})) // it belongs to another job or user
	case err != nil:
		return fail.With(fail.Load, err)
	}
	j.result.Snapshot = name
	return j.job.Record(history.EventSnapshot, history.SnapshotRecord{Snapshot: name})
}

// noSnapshot warns that the requested snapshot is not taken, which an undo of the load will lack.
func (j *run) noSnapshot() {
	switch taken := j.job.History.Snapshot; {
	case j.options.Snapshot == taken || j.options.Snapshot == "":
	case taken == "":
		j.options.Events.Warn("no snapshot is taken: the load has begun without one, and a snapshot now would have its cells", "snapshot", j.options.Snapshot)
	default:
		j.options.Events.Warn("no snapshot of this name is taken: the job has taken another one before its load", "snapshot", j.options.Snapshot, "taken", taken)
	}
}

// dropOlder deletes snapshots that earlier jobs of the state directory took before loading the table, except for the newest ones that are to be kept.
// A failure is a warning. It keeps snapshots of the same name that the job did not take, and ignores jobs of other clusters.
func (j *run) dropOlder(ctx context.Context) error {
	if j.options.KeepSnapshots == 0 || j.job.Dir == "" {
		return nil
	}
	if err := checkpoint.Refresh(ctx, j.env, j.options.State.Dir); err != nil { // earlier jobs may have run on other hosts
		return err
	}
	jobs, err := status.ReadAll(filepath.Dir(j.job.Dir))
	if err != nil {
		return err
	}
	jobs = slices.DeleteFunc(jobs, func(s *status.State) bool {
		return s.Job == filepath.Base(j.job.Dir) || s.Table != j.facts.Name.String() || s.State != history.JobDone || s.Snapshot == "" || s.Undo == history.UndoRunning
	})
	slices.SortFunc(jobs, func(a, b *status.State) int { return b.Ended.Compare(a.Ended) })
	kept := 0
	if j.job.History.Snapshot != "" {
		kept = 1 // this job's
	}
	for _, s := range jobs {
		there, err := j.snapshotOf(ctx, s)
		if there && kept < j.options.KeepSnapshots {
			kept++
			continue
		}
		if there {
			err = j.cluster.DeleteSnapshot(ctx, j.facts.Name, s.Snapshot)
			j.options.Events.Note("an older snapshot is deleted", "snapshot", s.Snapshot, "job", s.Job)
		}
		if err != nil {
			j.options.Events.Warn("an older snapshot is left behind", "snapshot", s.Snapshot, "job", s.Job, "error", err)
		}
	}
	return ctx.Err()
}

// snapshotOf reports whether the snapshot that another job has taken exists on this cluster.
func (j *run) snapshotOf(ctx context.Context, s *status.State) (bool, error) {
	trace, err := status.ReadTrace(s.Dir)
	if err != nil {
		return false, err
	}
	if was, own := trace.Plan, j.job.Plan; was != nil && was.Made != nil && own.Made != nil && was.Made.Cluster != own.Made.Cluster {
		return false, nil // jobs of one build take snapshots of the same name and, by chance, of the same millisecond
	}
	created, there, err := j.cluster.SnapshotTime(ctx, j.facts.Name, s.Snapshot)
	return err == nil && there && created == trace.Snapshotting.Created, err
}

// snapshotSkew is the maximum assumed clock difference between the master and the
// machine of an earlier attempt.
const snapshotSkew = 5 * time.Minute

// ownSnapshot reports whether a snapshot was taken by an earlier attempt, which was stopped after requesting it, and whether it exists. The attempt's has
// the creation time that the attempt assigned. Journals of older versions have no such time; a snapshot older than their record belongs to another job or
// user.
func ownSnapshot(ctx context.Context, c *loader.Cluster, name string, begun history.SnapshotRecord) (own, there bool, err error) {
	s, there, err := c.FindSnapshot(ctx, name)
	own = there && begun.Snapshot == name && s.Created == begun.Created
	if there && begun.Snapshot == name && begun.Created == 0 {
		own = s.Created >= begun.At.Add(-snapshotSkew).UnixMilli()
	}
	return own, there, err
}

// snapshotFree refuses the name of a snapshot that exists and that the job, which may start over, has not taken, before anything is built. A snapshot that
// appears later, or that this user may not see, is refused when the job takes its own.
func snapshotFree(ctx context.Context, c *loader.Cluster, st *checkpoint.Job, name string, restart bool) error {
	if name == "" || !restart && (st.Finished || st.History.Snapshot != "" || st.AnyLoading()) {
		return nil
	}
	own, there, err := ownSnapshot(ctx, c, name, st.KeptSnapshot())
	if err == nil && there && !own {
		err = snapshotExists(name)
	}
	return cluster.Failure(err)
}

func snapshotExists(name string) error {
	return fail.With(fail.Config, setting.Errorf("snapshot %s exists already: name another with %s, or delete it in HBase's shell (delete_snapshot '%[1]s')", name, setting.Snapshot))
}
