package checkpoint

import (
	"context"
	"errors"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
)

// Step is a part of a job. A command is a list of steps.
type Step struct {
	Name string                          // what it does, for readers of the list
	Done func() bool                     // reports whether the journal has the step already: then it is skipped; nil: each attempt takes it
	Gate bool                            // a job that is paused waits before it
	Run  func(ctx context.Context) error // records what it is about to do before it does it
	// TakeBack undoes the effects of this step and of those after it, as far as the job cannot continue from them, when one of them has ended
	// with an error. Nil: the effects stay for the next attempt.
	TakeBack func(ctx context.Context, cause error) error
}

// Steps takes the steps of a job that are left, in their order. The first error ends the attempt, and is recorded. Steps that were taken
// are taken back then, the last one first, unless another process has the job.
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

// Work begins the work on an open job. It returns the context of the work, which ends when another process takes the job over, and
// a function that ends the work: it closes the job, and puts into err that another process has it, or the error of Close.
func (st *Job) Work(ctx context.Context) (_ context.Context, end func(err *error)) {
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
	return ctx, func(err *error) {
		*err = errors.Join(*err, st.Close())
		if st.lock != nil && st.lock.owner != nil && *err != nil {
			if lost := st.lock.owner.Lost(); lost != nil {
				*err = stateFailure(lost)
			}
		}
		cancel(nil)
	}
}

// Check returns an error of kind [fail.Busy] if another process has taken the job over. Call it before removing something that the other may use.
func (st *Job) Check(ctx context.Context) error { return st.lock.Check(ctx) }

// Stage creates a staging directory that the journal has, or finds it. A process that was stopped before it created the directory, while
// another one ended the job and removed the directory, removes its own again.
func (st *Job) Stage(ctx context.Context, env *cluster.Env, uri string) (*staging.Dir, error) {
	if err := st.Check(ctx); err != nil {
		return nil, err
	}
	at, err := staging.At(env, uri)
	if err != nil {
		return nil, err
	}
	dir, err := staging.Make(ctx, env, at.Location)
	checked := st.Check(ctx)
	if lost, ok := errors.AsType[*statetable.LostError](checked); ok && lost.Holder.Released {
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		_ = at.FS.Remove(ctx, at.Location.Path) // unless it has files
	}
	if err == nil {
		err = checked
	}
	return dir, err
}

// Fail records, once, why the attempt of this process ends. It is only for display: a journal that does not take it says that the
// attempt was interrupted.
func (st *Job) Fail(ctx context.Context, cause error) {
	n := len(st.Attempts)
	if !st.begun || n == 0 || st.Attempts[n-1].State != JobInterrupted {
		return
	}
	text := cause.Error()
	if st.Finished { // work on a finished job
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
