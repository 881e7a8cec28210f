package checkpoint

import (
	"context"
	"errors"

	"bulkload/internal/engine/history"
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

// Fail records why the attempt of this process ends, once. The record is information for people: without it the journal says that the attempt was
// interrupted.
func (st *Job) Fail(ctx context.Context, cause error) {
	if !st.begun || history.LastAttempt(st.Attempts).State != history.JobInterrupted {
		return
	}
	text := cause.Error()
	if st.Finished { // an undo of a finished job
		text = "undo: " + text
	}
	r := history.FailedRecord{Error: text, Stopped: ctx.Err() != nil}
	if !r.Stopped {
		r.Kind = fail.KindOf(cause).String()
	}
	if fail.KindOf(cause) == fail.Verify {
		r.Phase = "verify"
	}
	_ = st.Record(history.EventFailed, r)
}
