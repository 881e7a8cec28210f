package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/loader"
)

// Begin records that this process begins to work on the job, and returns the number of its attempt, from 1. version is the version of the program.
func (st *Job) Begin(version string) (attempt int, err error) {
	o, _ := journal.Self(time.Now())
	attempt = len(st.Attempts) + 1
	return attempt, st.Record(history.EventAttempt, history.AttemptRecord{Attempt: attempt, PID: o.PID, Host: o.Host, Start: o.Start, Version: version})
}

// BeginStep returns the step that begins an attempt. attempt gets its number; nil: nothing needs it.
func (st *Job) BeginStep(version string, attempt *int) Step {
	attempt = cmp.Or(attempt, new(int))
	return Step{Name: "begin the attempt", Run: func(context.Context) (err error) { *attempt, err = st.Begin(version); return err }}
}

// End records that the job is done, with its result. Then it removes the staging directory, or copies the journal there if the directory is kept. dir
// is nil for a job without a staging directory.
func (st *Job) End(ctx context.Context, r *result.Result, dir *staging.Dir, keep bool, e progress.Events) error {
	done := history.DoneRecord{Result: new(*r.Summary()), Staging: history.StagingRemoved}
	switch {
	case keep:
		done.Staging = history.StagingKept
	case st.Plan != nil && st.Plan.Staging != "":
		done.Next = true
	}
	if err := st.Record(history.EventDone, done); err != nil {
		return err
	}
	switch {
	case keep:
		st.Publish(ctx, dir, e)
	case dir != nil:
		st.endedStaging(dir.Remove(ctx), e)
	}
	return nil
}

// Answer sets r to the result of a job that was done before, and calls [Job.EndStaging].
func (st *Job) Answer(ctx context.Context, env *cluster.Env, r *result.Result, e progress.Events) {
	if st.Result != nil {
		*r = *st.Result
	}
	r.Already, r.Job, r.DoneAt = true, st.Dir, st.FinishedAt
	st.EndStaging(ctx, env, e)
}

// EndSpill removes sorted rows that are not needed any more. A failure is only a warning.
func (st *Job) EndSpill(e progress.Events) {
	if err := st.Resume().DropSpill(); err != nil {
		e.Warn("sorted rows are left behind", "path", st.Spill, "error", err)
	}
}

// ForgetBuild records that nothing is sorted and no file is written, because the rows are read again from another snapshot or with other settings.
func (st *Job) ForgetBuild() error {
	if st.Log == nil || st.Sorted == nil && st.Built == nil && st.Spill == "" && len(st.Written) == 0 {
		return nil
	}
	if err := st.Resume().DropSpill(); err != nil {
		return fail.With(fail.HDFS, err)
	}
	return st.Record(history.EventLost, build.LostRecord{Regions: slices.Sorted(maps.Keys(st.Written)), All: true})
}

// EndPrepared calls [Job.DropPrepared], and warns of directories that could not be removed.
func (st *Job) EndPrepared(ctx context.Context, env *cluster.Env, c *loader.Cluster, e progress.Events) {
	if err := st.DropPrepared(ctx, env, c); err != nil {
		e.Warn("a directory of a killed load is left behind", "error", err)
	}
}

// DropPrepared has HBase remove the staging directories that attempts of the job have left, and records that. A directory with a file in it is kept.
func (st *Job) DropPrepared(ctx context.Context, env *cluster.Env, c *loader.Cluster) error {
	var errs []error
	for _, token := range slices.Sorted(maps.Keys(st.Prepared)) {
		err := removePrepared(ctx, env, c, token, st.Prepared[token])
		if err == nil {
			err = st.Record(history.EventCleaned, history.TokenRecord{Token: token})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func removePrepared(ctx context.Context, env *cluster.Env, c *loader.Cluster, token, table string) error {
	name, err := loader.ParseTableName(table)
	if err != nil {
		return err
	}
	fsys, _, err := env.Resolve(token)
	if err != nil {
		return err
	}
	return c.RemoveStaging(ctx, fsys, name, token)
}

// Restart removes the journal and the resources that it names. If HBase may hold files of the job, they are then loaded again: with the same
// timestamp readers do not notice, with another one they see newer cells. A table that the job has made is kept, and still belongs to the job, and so does
// the snapshot of an unfinished job: one that is taken later has the cells of the discarded attempt. before is done first, in order, as long as
// no other process has taken over the job.
func (st *Job) Restart(ctx context.Context, env *cluster.Env, before ...func(context.Context) error) error {
	for _, do := range before {
		if err := st.Check(ctx); err != nil {
			return err
		}
		if err := do(ctx); err != nil {
			return err
		}
	}
	if err := st.Check(ctx); err != nil || st.Log == nil {
		return err
	}
	removed, left, err := st.discardStaging(ctx, env)
	if err != nil {
		return err
	}
	if x := st.Exporting; x != nil && x.Token != "" { // a complete export has no token
		if err := removeExport(ctx, env, x.Dir, x.Token); err != nil {
			return err
		}
	}
	if err := st.DropAllSnapshots(ctx, env); err != nil {
		return err
	}
	_ = withCluster(ctx, env, func(ctx context.Context, c *loader.Cluster) error { return st.DropPrepared(ctx, env, c) }, len(st.Prepared)) // directories that could not be removed are recorded again
	if err := withCluster(ctx, env, func(ctx context.Context, c *loader.Cluster) error {
		for _, q := range st.Quiet {
			if err := giveBack(ctx, c, q); err != nil {
				return err
			}
		}
		return nil
	}, len(st.Quiet)); err != nil {
		return err
	}
	if err := errors.Join(st.Resume().DropSpill(), st.Resume().DropStreams()); err != nil {
		return fail.With(fail.HDFS, err)
	}
	kept := history.DiscardedRecord{Prepared: st.Prepared, Staging: left}
	if taken := st.KeptSnapshot(); taken.Snapshot != "" {
		kept.Snapshot = &taken
	}
	if st.Fresh != nil {
		made := *st.Fresh
		made.Compared, kept.Fresh = nil, &made
	}
	first, err := journal.NewRecord(1, string(history.EventDiscarded), kept)
	if err != nil {
		return fail.With(fail.Unexpected, err)
	}
	if err := errors.Join(st.Log.Close(), st.lock.Discard(first.Data)); err != nil {
		return fail.With(fail.Config, err)
	}
	if err := st.reopen(); err != nil {
		return err
	}
	st.stop.seen(st, first)
	if st.lock.owner == nil {
		return nil
	}
	for _, uri := range removed { // a process that lost the job may have created it again while the journal named it, see giveUp
		err = errors.Join(err, removeWithProbe(ctx, env, uri))
	}
	return fail.With(fail.HDFS, err)
}
