package undo

import (
	"context"
	"errors"
	"time"

	"bulkload/internal/cleanup"
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
	others int  // timestamps of the table that were undone
	all    bool // every older cell that is seen again is written with the markers
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
func (t *target) own() checkpoint.UndoTable { return t.u.st.Undo.Of(t.number) }

// predict surveys a snapshot that is taken for it, and deletes it again.
func (t *target) predict(ctx context.Context) (err error) {
	t.u.o.Events.Phase("snapshot")
	src, err := tablesource.Open(ctx, t.u.env, tablesource.Ref{Table: t.table}, tablesource.Options{FilesOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	t.result.Survey, err = t.look(ctx, src)
	return err
}

// snapshotOf opens the one that the undo has of the table, and takes it if it is not there.
func (t *target) snapshotOf(ctx context.Context) (*tablesource.Source, error) {
	return tablesource.Open(ctx, t.u.env, tablesource.Ref{Table: t.table}, tablesource.Options{Name: t.own().Snapshot, Created: t.u.st.Undo.Created, Keep: true, FilesOnly: true})
}

// look surveys a snapshot.
func (t *target) look(ctx context.Context, src *tablesource.Source) (*result.Survey, error) {
	t.u.o.Events.Phase("read")
	s, err := t.survey(ctx, src.Snapshot, t.u.read)
	return s, tablesource.FilesFailure(err)
}

// present surveys the table as it is now, by a snapshot that the journal names before it is taken.
func (t *target) present(ctx context.Context) (s *result.Survey, err error) {
	now := time.Now()
	rec := checkpoint.ReadSnapshotRecord{Input: t.table.String(), Place: "undo of " + t.table.String(), Table: t.table.String(),
		Snapshot: tablesource.NewName(t.table, now), Created: now.UnixMilli()}
	if err := t.u.st.Record(checkpoint.EventReadSnapshot, rec); err != nil {
		return nil, err
	}
	src, err := tablesource.Open(ctx, t.u.env, tablesource.Ref{Table: t.table}, tablesource.Options{Name: rec.Snapshot, Created: rec.Created, Keep: true, FilesOnly: true})
	if err == nil {
		s, err = t.look(ctx, src)
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return s, errors.Join(err, fail.With(fail.Load, t.u.st.DropRead(ctx, t.u.c)))
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
