package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
)

// Step is a step of a job. A command is a list of steps.
type Step struct {
	Name string                          // description of the step, for lists of steps
	Done func() bool                     // reports whether the journal has the step already, which is then skipped; nil: every attempt runs it
	Gate bool                            // a paused job waits before the step
	Run  func(ctx context.Context) error // must record each action before performing it
	// TakeBack reverts this step and the steps after it, as far as the job cannot resume from them, when one of them has failed. Nil: their effects are
	// kept for the next attempt.
	TakeBack func(ctx context.Context, cause error) error
}

// Steps runs the remaining steps of a job, in order. The first error ends the attempt, and is recorded. Then the steps up to the failed one are
// reverted by TakeBack, the last one first, unless another process has taken over the job.
func (st *Job) Steps(ctx context.Context, gate progress.Gate, steps []Step) error {
	for i, s := range steps {
		if s.Done != nil && s.Done() {
			continue
		}
		var err error
		if s.Gate {
			err = progress.Pass(ctx, gate)
		}
		if err == nil {
			err = s.Run(ctx)
		}
		if err == nil {
			continue
		}
		st.Fail(ctx, err)
		for ; i >= 0; i-- {
			if back := steps[i].TakeBack; back != nil && st.Check(ctx) == nil {
				err = errors.Join(err, back(ctx, err))
			}
		}
		return err
	}
	return nil
}

// Work begins the work on an open job. It returns a context, which is cancelled when another process takes over the job, and a function that ends the
// work: it closes the job, and adds to err the result of Close, or replaces err if another process has the job. r, which may be nil, gets the job's
// directory, none if nothing was done.
func (st *Job) Work(ctx context.Context) (_ context.Context, end func(err *error, r *result.Result)) {
	ctx, cancel := context.WithCancelCause(ctx)
	if st.lock != nil && st.lock.owner != nil {
		go func() {
			select {
			case <-st.lock.owner.Gone():
				cancel(stateFailure(st.lock.owner.Lost()))
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func(err *error, r *result.Result) {
		*err = errors.Join(*err, st.Close())
		if st.lock != nil && st.lock.owner != nil && *err != nil {
			if lost := st.lock.owner.Lost(); lost != nil {
				*err = stateFailure(lost)
			}
		}
		if r != nil {
			r.Job = st.Dir
		}
		cancel(nil)
	}
}

// Check returns an error of kind [fail.Busy] if another process has taken over the job. Call it before removing anything that the other may use.
func (st *Job) Check(ctx context.Context) error { return st.lock.Check(ctx) }

// Stage creates the staging directory recorded in the journal, or finds it. If another process has taken over the job while this one was suspended, and
// the job's journal does not name the directory any more, Stage removes the directory that it has created.
func (st *Job) Stage(ctx context.Context, env *cluster.Env, uri string) (*staging.Dir, error) {
	if err := st.Check(ctx); err != nil {
		return nil, err
	}
	at, err := staging.At(env, uri)
	if err != nil {
		return nil, err
	}
	dir, err := staging.Make(ctx, env, at.Location)
	if lost := st.Check(ctx); lost != nil {
		st.giveUp(ctx, at, uri, lost)
		if err == nil {
			err = lost
		}
	}
	return dir, err
}

// giveUp removes a staging directory that this process may have created after it lost the job, unless the journal, as it is now, names the directory.
func (st *Job) giveUp(ctx context.Context, at *staging.Dir, uri string, cause error) {
	if _, lost := errors.AsType[*statetable.LostError](cause); !lost {
		return
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	now, err := st.lock.owner.Now(ctx)
	if err != nil {
		return
	}
	records, err := journal.Read(bytes.NewReader(textOf(now)))
	if err != nil {
		return
	}
	h, err := HistoryOf(records)
	named := func(r Resource) bool { return r.Kind == ResourceStaging && r.Name == uri }
	ended := err == nil && h.Finished && (h.removesStaging() || h.StagingEnd == StagingGone) && h.Plan != nil && h.Plan.Staging == uri
	if err != nil || !ended && slices.ContainsFunc(h.Resources(), named) {
		return
	}
	_ = at.FS.Remove(ctx, at.Location.Path) // fails if it has files
}

// Fail records why the attempt of this process ends, once. The record is information for people: without it the journal says that the attempt was
// interrupted.
func (st *Job) Fail(ctx context.Context, cause error) {
	if !st.begun || lastOf(st.Attempts).State != JobInterrupted {
		return
	}
	text := cause.Error()
	if st.Finished { // an undo of a finished job
		text = "undo: " + text
	}
	r := FailedRecord{Error: text, Stopped: ctx.Err() != nil}
	if !r.Stopped {
		r.Kind = fail.KindOf(cause).String()
	}
	if fail.KindOf(cause) == fail.Verify {
		r.Phase = "verify"
	}
	_ = st.Record(EventFailed, r)
}
