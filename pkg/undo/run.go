package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bulkload/internal/cleanup"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/progress"
	"bulkload/pkg/result"
	"bulkload/pkg/setting"
	"bulkload/pkg/staging"
	"bulkload/pkg/tablesource"
)

// Options say how [Run] works.
type Options struct {
	DryRun     bool   // predict, and change nothing
	InsertOnly bool   // the caller knows that no row of the load was in the table before it
	Verify     string // full: the table is as predicted (default); range: no cell of the load is seen, for tables that others write to meanwhile
	Staging    string // directory on HDFS for the files with markers, default /tmp/bulkload-USER
	Stage      loader.Stage
	// LoadConcurrency is how many regions of the whole table are asked to load at a time, default 2 of each region server.
	LoadConcurrency int
	Readers         int           // regions that are read at a time, default 4
	LockWait        time.Duration // how long to wait for another process that works on the job; default: not at all
	Version         string        // of the program, for the journal
	Gate            progress.Gate // where the load waits between its steps, default nowhere
	Events          progress.Events
}

// undo is one process's work on an undo.
type undo struct {
	*load
	env    *cluster.Env
	o      Options
	c      *loader.Cluster
	st     *checkpoint.Job
	state  string // directory of all jobs' state
	facts  *cluster.Facts
	result *result.Undo
	read   reading
}

// Run takes the load of a finished job out of its table again. dir is the
// directory of the job's state. With an error comes the result as far as it is
// known, or nil; one of kind [fail.Check] says why markers would lose something,
// and nothing was changed then. The same call after a crash resumes; after a
// success it does nothing.
func Run(ctx context.Context, env *cluster.Env, dir string, o Options) (_ *result.Undo, err error) {
	started := time.Now()
	dir = filepath.Clean(dir)
	u := &undo{env: env, o: o, state: filepath.Dir(dir)}
	u.o.Verify = cmp.Or(o.Verify, "full")
	u.read = reading{workers: cmp.Or(o.Readers, readers), now: started, events: o.Events}
	if o.DryRun {
		trace, err := checkpoint.ReadTrace(dir)
		if err != nil {
			return nil, fail.With(fail.Input, err)
		}
		u.st = &checkpoint.Job{Dir: dir, History: trace.History}
	} else {
		if u.st, err = checkpoint.OpenDir(ctx, dir, o.LockWait, o.Events); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, u.st.Close()) }()
	}
	if u.load, err = loadOf(dir, &u.st.History); err != nil {
		return nil, err
	}
	u.result = &result.Undo{Schema: 1, Table: u.table.String(), Job: dir, Timestamp: u.stamp, DryRun: o.DryRun, Before: u.snapshot}
	defer func() { u.result.Elapsed = time.Since(started) }()
	if was := u.undoing; was != nil && was.Done {
		if was.Result != nil {
			*u.result = *was.Result
		}
		u.result.Already, u.result.DoneAt = true, was.DoneAt
		return u.result, nil
	}
	if u.manifest.Digest.Cells == 0 {
		return u.result, fail.Errorf(fail.Check, "job %s has written no cells: there is nothing to undo", u.job)
	}
	if u.c, err = env.Dial(ctx); err != nil {
		return u.result, err
	}
	defer u.c.Close()
	id, err := u.c.ID(ctx)
	if err != nil {
		return u.result, cluster.Failure(err)
	}
	if err := u.sameCluster(id); err != nil {
		return u.result, err
	}
	u.clusterID = id
	if u.facts, err = cluster.TableFacts(ctx, env, u.c, u.table.String(), u.families...); err != nil {
		return u.result, err
	}
	if o.DryRun {
		return u.result, u.predict(ctx)
	}
	return u.result, u.work(ctx)
}

// predict surveys a snapshot that is taken for it, and deletes it again.
func (u *undo) predict(ctx context.Context) (err error) {
	if u.undoing != nil && u.undoing.Built {
		u.result.Survey = u.undoing.Result.Survey
		return nil // as it was when the undo began
	}
	u.o.Events.Phase("snapshot")
	src, err := tablesource.Open(ctx, u.env, tablesource.Ref{Table: u.table}, tablesource.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	return u.judge(ctx, src)
}

// judge surveys a snapshot and refuses what markers would lose.
func (u *undo) judge(ctx context.Context, src *tablesource.Source) (err error) {
	u.o.Events.Phase("read")
	if u.result.Survey, err = u.survey(ctx, src.Snapshot, u.read); err != nil {
		return fail.With(fail.HDFS, err)
	}
	undone, err := checkpoint.ReadUndone(ctx, u.state, u.o.Events)
	if err != nil {
		return err
	}
	others := map[int64]bool{}
	for _, x := range undone {
		if x.Cluster == u.clusterID && x.Table == u.table.String() && x.Timestamp != u.stamp {
			others[x.Timestamp] = true
		}
	}
	var errs []error
	for _, why := range u.refusals(u.result.Survey, len(others), u.o.InsertOnly) {
		u.result.Refused = append(u.result.Refused, why.String())
		errs = append(errs, setting.Errorf("%s", why))
	}
	if len(errs) == 0 {
		return nil
	}
	return fail.With(fail.Check, setting.Errorf("job %s is not undone by markers, and nothing was changed: %w\n%s", u.job, errors.Join(errs...), u.wayBack()))
}

// work takes the steps that are left.
func (u *undo) work(ctx context.Context) error {
	host, _ := os.Hostname()
	if err := u.st.Record(checkpoint.EventAttempt, checkpoint.AttemptRecord{Attempt: len(u.st.Attempts) + 1, PID: os.Getpid(), Host: host, Version: u.o.Version}); err != nil {
		return err
	}
	err := u.steps(ctx)
	if err != nil {
		_ = u.st.Record(checkpoint.EventFailed, checkpoint.FailedRecord{Error: "undo: " + err.Error()})
	}
	return err
}

func (u *undo) steps(ctx context.Context) error {
	if u.undoing == nil {
		if err := u.begin(); err != nil {
			return err
		}
	}
	u.read.now = time.UnixMilli(u.undoing.Created) // for every attempt: what has expired is a part of the prediction
	if !u.undoing.Built {
		if err := u.build(ctx); err != nil {
			return err
		}
	} else {
		before := *u.undoing.Result
		before.DryRun, before.Elapsed = false, 0
		*u.result = before
		u.o.Events.Note("markers are written already", "files", len(u.undoing.Markers))
	}
	if err := u.bring(ctx); err != nil {
		return err
	}
	if err := u.verify(ctx); err != nil {
		return err
	}
	return u.end(ctx)
}

// begin records what is begun: the snapshot and the staging directory are known
// from now on.
func (u *undo) begin() error {
	now := time.Now()
	l, err := staging.Choose(u.env, u.o.Staging, u.table.String(), u.stamp)
	if err != nil {
		return err
	}
	begun := checkpoint.UndoRecord{Timestamp: u.stamp, Snapshot: tablesource.NewName(u.table, now), Created: now.UnixMilli(), Staging: l.String()}
	if err := u.st.Record(checkpoint.EventUndoing, begun); err != nil {
		return err
	}
	u.st.BeginUndo(begun)
	u.undoing = u.st.Undo
	return nil
}

// withdraw records that nothing was changed.
func (u *undo) withdraw(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := u.dropSnapshot(ctx); err != nil {
		return err // the undo stays begun: the same command removes it
	}
	if dir, err := u.stage(ctx); err == nil {
		if err := dir.Remove(ctx); err != nil {
			u.o.Events.Warn("staging directory is left behind", "path", u.undoing.Staging, "error", err)
		}
	}
	return u.st.Record(checkpoint.EventUndoing, checkpoint.UndoRecord{})
}

func (u *undo) dropSnapshot(ctx context.Context) error {
	err := u.c.DeleteSnapshot(ctx, u.table, u.undoing.Snapshot)
	if err != nil {
		return fail.With(fail.Load, fmt.Errorf("%w: delete it by hand: delete_snapshot '%s'", err, u.undoing.Snapshot))
	}
	return nil
}
