package undo

import (
	"context"
	"errors"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
)

// target is one of the tables from which an undo removes the load.
type target struct {
	*load
	undo   *undo
	facts  *cluster.Facts
	result *result.Undo
}

// target sets the targets of loads and their results.
func (u *undo) target(loads []*load, dir string) {
	for i, l := range loads {
		r := &result.Undo{Schema: 1, Table: l.table.String(), Index: l.index, Job: dir, Timestamp: l.stamp, DryRun: u.options.DryRun, Before: l.snapshot}
		if i == 0 {
			u.result = r
		} else {
			u.result.Tables = append(u.result.Tables, r)
		}
		u.tables = append(u.tables, &target{load: l, undo: u, result: r})
	}
}

// resultsOf returns the results of all tables, in loading order.
func resultsOf(r *result.Undo) []*result.Undo { return append([]*result.Undo{r}, r.Tables...) }

// own returns the undo's names for the table.
func (t *target) own() history.UndoTable { return t.undo.job.Undo.Of(t.number) }

// snapshotOf opens the undo's snapshot of the table, and takes it if it does not
// exist.
func (t *target) snapshotOf(ctx context.Context) (*tablesource.Source, error) {
	return job.OpenSnapshot(ctx, t.undo.env, t.undo.job, t.table, history.PlaceUndone(t.number))
}

// look surveys a snapshot.
func (t *target) look(ctx context.Context, src *tablesource.Source) (*result.Survey, error) {
	t.undo.options.Events.Phase("read")
	s, err := t.survey(ctx, src.Snapshot, t.undo.read)
	return s, tablesource.FilesFailure(err)
}

// presentPlace returns the place of a snapshot of the current table.
func (t *target) presentPlace() string { return "undo of " + t.table.String() }

// present surveys the current table.
func (t *target) present(ctx context.Context) (s *result.Survey, err error) {
	err = t.withPresent(ctx, func(src *tablesource.Source) (err error) { s, err = t.look(ctx, src); return err })
	return s, err
}

// withPresent takes a snapshot of the current table, and deletes it when do has read it.
func (t *target) withPresent(ctx context.Context, do func(src *tablesource.Source) error) error {
	if t.undo.options.DryRun {
		src, err := tablesource.Open(ctx, t.undo.env, tablesource.Ref{Table: t.table}, tablesource.Options{FilesOnly: true})
		if err != nil {
			return err
		}
		return errors.Join(do(src), src.Close(ctx))
	}
	src, err := job.OpenSnapshot(ctx, t.undo.env, t.undo.job, t.table, t.presentPlace())
	if err == nil {
		err = do(src)
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return errors.Join(err, fail.With(fail.Load, t.undo.job.DropSnapshots(ctx, t.undo.cluster, t.presentPlace())))
}

// stage returns the directory of the files with delete markers.
func (t *target) stage(ctx context.Context) (*staging.Dir, error) {
	return t.undo.job.Stage(ctx, t.undo.env, t.own().Staging)
}

func (u *undo) dropSnapshots(ctx context.Context) error {
	var errs []error
	for _, t := range u.tables {
		errs = append(errs, u.job.DropSnapshots(ctx, u.cluster, history.PlaceUndone(t.number)))
	}
	return fail.With(fail.Load, errors.Join(errs...))
}

func (u *undo) dropStaging(ctx context.Context) {
	for _, t := range u.tables {
		checkpoint.DropStaging(ctx, u.env, t.own().Staging, u.options.Events)
	}
}

// withinQuotas refuses markers that HBase would refuse, before the first is sent.
func (u *undo) withinQuotas(ctx context.Context) error {
	if was := u.job.Undo; u.options.By == BySnapshot || was != nil && len(was.Sent) > 0 {
		return nil
	}
	var names []loader.TableName
	for _, t := range u.tables {
		names = append(names, t.table)
	}
	return job.CheckQuota(ctx, u.cluster, names...)
}
