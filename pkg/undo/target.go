package undo

import (
	"context"
	"errors"

	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/result"
	"bulkload/pkg/spec"
	"bulkload/pkg/staging"
	"bulkload/pkg/tablesource"
)

// target is one of the tables out of which an undo takes the load.
type target struct {
	*load
	u      *undo
	facts  *cluster.Facts
	result *result.Undo
}

// target makes the targets of loads and their results.
func (u *undo) target(loads []*load, dir string) {
	for i, l := range loads {
		r := &result.Undo{Schema: 1, Table: l.table.String(), Index: l.index, Job: dir, Timestamp: l.stamp, DryRun: u.o.DryRun, Before: l.snapshot}
		if i == 0 {
			u.result = r
		} else {
			u.result.Tables = append(u.result.Tables, r)
		}
		u.tables = append(u.tables, &target{load: l, u: u, result: r})
	}
}

// resultsOf are those of all tables, in the order of loading.
func resultsOf(r *result.Undo) []*result.Undo { return append([]*result.Undo{r}, r.Tables...) }

// own is what the undo has of the table.
func (t *target) own() checkpoint.UndoTable { return t.u.undoing.Of(t.number) }

// predict surveys a snapshot that is taken for it, and deletes it again.
func (t *target) predict(ctx context.Context) (err error) {
	t.u.o.Events.Phase("snapshot")
	src, err := tablesource.Open(ctx, t.u.env, tablesource.Ref{Table: t.table}, tablesource.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	return t.look(ctx, src)
}

// snapshotOf opens the one that the undo has of the table, and takes it if it is not there.
func (t *target) snapshotOf(ctx context.Context) (*tablesource.Source, error) {
	return tablesource.Open(ctx, t.u.env, tablesource.Ref{Table: t.table}, tablesource.Options{Name: t.own().Snapshot, Created: t.u.undoing.Created, Keep: true})
}

// look surveys a snapshot.
func (t *target) look(ctx context.Context, src *tablesource.Source) (err error) {
	t.u.o.Events.Phase("read")
	t.result.Survey, err = t.survey(ctx, src.Snapshot, t.u.read)
	return fail.With(fail.HDFS, err)
}

// stage is the directory of the files with markers.
func (t *target) stage(ctx context.Context) (*staging.Dir, error) {
	l, err := t.u.env.Conf.Resolve(t.own().Staging)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	return staging.Make(ctx, t.u.env, l)
}

// family is that of the table.
func (t *target) family(name string) spec.Family {
	for _, f := range t.facts.Families {
		if f.Name == name {
			return f
		}
	}
	return spec.DefaultFamily(name)
}
