package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/loader"
)

// Begin records that this process begins to work on the job, and returns the number of its attempt, from 1. version is the version of
// the program.
func (st *Job) Begin(version string) (attempt int, err error) {
	host, _ := os.Hostname()
	attempt = len(st.Attempts) + 1
	return attempt, st.Record(EventAttempt, AttemptRecord{Attempt: attempt, PID: os.Getpid(), Host: host, Version: version})
}

// BeginStep returns the first step of an attempt, which reports only that it begins.
func (st *Job) BeginStep(version string) Step {
	return Step{Name: "begin the attempt", Run: func(context.Context) error { _, err := st.Begin(version); return err }}
}

// End records the result of the job, and that nothing is left to do. Then it removes the staging directory, or copies the journal
// there if the directory is kept. dir is nil for a job without a staging directory.
func (st *Job) End(ctx context.Context, r *result.Result, dir *staging.Dir, keep bool, e progress.Events) error {
	done := DoneRecord{Result: new(*r.Summary()), Staging: StagingRemoved}
	if keep {
		done.Staging = StagingKept
	}
	if err := st.Record(EventDone, done); err != nil {
		return err
	}
	switch {
	case keep:
		st.Publish(ctx, dir, e)
	case dir != nil:
		LeftStaging(e, dir.Location.String(), dir.Remove(ctx))
	}
	return nil
}

// Answer puts the result of a job that was done before into r, and then does the same as [Job.EndStaging].
func (st *Job) Answer(ctx context.Context, env *cluster.Env, r *result.Result, e progress.Events) {
	if st.Result != nil {
		*r = *st.Result
	}
	r.Already, r.Job, r.DoneAt = true, st.Dir, st.FinishedAt
	st.EndStaging(ctx, env, e)
}

// EndStaging removes the staging directory of a finished job if a process was killed between the end of the job and the
// removal. A directory that the job keeps by its settings stays, and so does one whose journal, of another version, does not say.
func (st *Job) EndStaging(ctx context.Context, env *cluster.Env, e progress.Events) {
	if st.StagingEnd != StagingRemoved || st.Plan.Staging == "" {
		return
	}
	dir, err := staging.At(env, st.Plan.Staging)
	if err == nil {
		_, err = dir.FS.Stat(ctx, dir.Location.Path)
	}
	if err == nil {
		err = dir.Remove(ctx)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		LeftStaging(e, st.Plan.Staging, err)
	}
}

// LeftStaging warns of a staging directory that stays because of err, if that is not nil.
func LeftStaging(e progress.Events, path string, err error) {
	if err != nil {
		e.Warn("staging directory is left behind", "path", path, "error", err)
	}
}

// EndSpill removes sorted rows that are no longer needed. If it cannot, it warns.
func (st *Job) EndSpill(e progress.Events) {
	if err := st.Resume().DropSpill(); err != nil {
		e.Warn("sorted rows are left behind", "path", st.Spill, "error", err)
	}
}

// ForgetBuild records that nothing is sorted and no file is written, since the rows are read again from another snapshot or with other
// settings.
func (st *Job) ForgetBuild() error {
	if st.Log == nil || st.Sorted == nil && st.Built == nil && st.Spill == "" && len(st.Written) == 0 {
		return nil
	}
	if err := st.Resume().DropSpill(); err != nil {
		return fail.With(fail.HDFS, err)
	}
	return st.Record(EventLost, build.LostRecord{Regions: slices.Sorted(maps.Keys(st.Written)), All: true})
}

// EndPrepared is [Job.DropPrepared], but only warns of a directory that it cannot remove.
func (st *Job) EndPrepared(ctx context.Context, env *cluster.Env, c *loader.Cluster, e progress.Events) {
	if err := st.DropPrepared(ctx, env, c); err != nil {
		e.Warn("a directory of a killed load is left behind", "error", err)
	}
}
