package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"bulkload/internal/base/durable"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
)

// restartName is the name of the file, in the directory of the parts, that is there while a restart discards their checkpoints.
const restartName = "restart"

// restart discards the checkpoints of all parts before the first of them begins, so that a run that is interrupted resumes without
// [checkpoint.Options.Restart]. It looks at all parts before the first checkpoint is discarded; look refuses one that could not begin. A restart that was
// interrupted while it discarded them is completed by the next run.
func (p *parts) restart(ctx context.Context, look func(context.Context, int, *checkpoint.Job) error) error {
	if p.options.State.Dir == "" {
		return nil
	}
	begun := filepath.Join(p.result.Job, restartName)
	_, err := os.Stat(begun)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail.With(fail.Config, err)
	}
	if !p.options.State.Restart && err != nil {
		return nil
	}
	own := p.options.Snapshot == ""
	if err := p.eachBegun(ctx, func(ctx context.Context, i int, st *checkpoint.Job) error {
		own = own || st.KeptSnapshot().Snapshot == p.options.Snapshot
		return look(ctx, i, st)
	}); err != nil {
		return err
	}
	if !own {
		if err := snapshotFree(ctx, p.conn, &checkpoint.Job{}, p.options.Snapshot, true); err != nil {
			return err
		}
	}
	if err := progress.Pass(ctx, p.options.Gate); err != nil {
		return err
	}
	if err := durable.Replace(begun, nil); err != nil {
		return fail.With(fail.Config, err)
	}
	if err := p.eachBegun(ctx, func(ctx context.Context, _ int, st *checkpoint.Job) error {
		return st.Restart(ctx, p.env, OnYARN{Env: p.env, Journal: st}.End)
	}); err != nil {
		return err
	}
	p.options.State.Restart = false // the parts have none that is older
	return fail.With(fail.Config, os.Remove(begun))
}

// eachBegun calls do with the job of each part that has a journal.
func (p *parts) eachBegun(ctx context.Context, do func(context.Context, int, *checkpoint.Job) error) error {
	for i := range p.dirs {
		dir, err := p.stateDir(i)
		if err != nil {
			return err
		}
		switch _, err := os.Stat(filepath.Join(dir, journal.FileName)); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return fail.With(fail.Config, err)
		}
		if err := p.open(ctx, i, do); err != nil {
			return p.errorOf(i, err)
		}
	}
	return nil
}

// open calls do with the job of a part, whose lock is held meanwhile.
func (p *parts) open(ctx context.Context, i int, do func(context.Context, int, *checkpoint.Job) error) (err error) {
	id, err := checkpoint.Identify(p.env, p.partSpec(i), p.options.State.JobID)
	if err != nil {
		return err
	}
	st, err := checkpoint.Open(ctx, p.conn, id.On(p.cluster), p.options.State, progress.Events{})
	if err != nil {
		return err
	}
	ctx, end := st.Work(ctx)
	defer end(&err, nil)
	return do(ctx, i, st)
}

// look refuses to start a part over that could not begin, as [begin] does.
func (p *parts) look(ctx context.Context, i int, st *checkpoint.Job) error {
	o := p.partOptions(i)
	if _, _, _, err := accepted(p.env, p.partSpec(i), o); err != nil {
		return err
	}
	if err := undone(st.Dir, &st.History, true, o.afterUndo()); err != nil || st.Plan == nil {
		return err
	}
	return rehearsed(ctx, p.env, p.conn, st, p.partSpec(i), nil, o)
}
