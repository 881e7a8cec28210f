package undo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// The kinds of an undo.
const (
	ByMarkers  = "markers"
	BySnapshot = "snapshot"
)

// restore is an undo by a snapshot from before the load.
type restore struct {
	*target
	from history.RestoredFrom
	into loader.TableName // the table to restore: the load's table, or a new one

	before *tablesource.Source // the snapshot from before the load
	quiet  map[string]string   // current attributes, which the table gets back after the restore
	seen   *snapshot.Snapshot  // the table when the loss was predicted; nil: another process predicted it
	died   string              // a region server that has died since the undo began
	scans  bool                // HBase takes no snapshot of the restored table: a scan compares it
}

// inPlace reports whether the load's table is restored itself.
func (r *restore) inPlace() bool { return r.from.Into == "" }

// restoring returns the undo by a snapshot that is under way according to the journal, or that the options describe.
func (u *undo) restoring() (*restore, error) {
	r := &restore{target: u.tables[0], from: history.RestoredFrom{Snapshot: u.options.Snapshot, Into: u.options.Into, Discard: u.options.Discard}}
	switch was := u.job.Undo; {
	case was != nil && was.From != nil:
		r.from = *was.From
		r.from.Discard = r.from.Discard || u.options.Discard
		if u.options.Into != "" && u.options.Into != r.from.Into || u.options.Snapshot != "" && u.options.Snapshot != r.from.Snapshot {
			return nil, fail.Errorf(fail.Config, "an undo by snapshot %s is under way%s: give the same command", r.from.Snapshot, intoText(r.from.Into))
		}
	case r.from.Snapshot == "" && r.snapshot == "":
		return nil, fail.With(fail.Check, setting.Errorf("job %s took no snapshot before its load: name one with %s, or give run %[2]s next time", r.job, setting.Snapshot))
	case r.from.Snapshot == "":
		r.from.Snapshot = r.snapshot
	}
	r.into = r.table
	if !r.inPlace() {
		var err error
		if r.into, err = loader.ParseTableName(r.from.Into); err != nil {
			return nil, fail.With(fail.Config, err)
		}
		if r.into == r.table {
			return nil, fail.With(fail.Config, setting.Errorf("%s names the job's own table %s: leave it out to restore that one in place", setting.Into, r.into))
		}
	}
	r.result.By, r.result.Into, r.result.Before = BySnapshot, r.from.Into, r.from.Snapshot
	return r, nil
}

// made reports whether an earlier call has made the new table, and it is there.
func (r *restore) made(ctx context.Context) (bool, error) {
	c := r.undo.job.Copied
	if c == nil || r.undo.job.Undo != nil || c.Into != r.from.Into || c.Before != r.from.Snapshot {
		return false, nil
	}
	switch _, err := r.undo.cluster.Describe(ctx, r.into); {
	case errors.Is(err, loader.ErrTableNotFound):
		return false, nil
	case err != nil:
		return false, cluster.Failure(err)
	}
	*r.undo.result = *c
	r.undo.result.Already = true
	return true, nil
}

func intoText(table string) string {
	if table == "" {
		return ""
	}
	return " into table " + table
}

// run predicts the restore, or does its remaining steps.
func (r *restore) run(ctx context.Context) (err error) {
	defer func() {
		if r.before != nil {
			err = errors.Join(err, r.before.Close(ctx))
		}
	}()
	if was := r.undo.job.Undo; was != nil {
		r.undo.read.now = time.UnixMilli(was.Created)
	}
	if was := r.undo.job.Undo; was != nil && was.Result != nil {
		r.result.Restore = was.Result.Restore
		if r.undo.options.DryRun {
			return nil // as predicted when the undo began
		}
	}
	if r.undo.options.DryRun {
		return r.predict(ctx)
	}
	return r.undo.job.Steps(ctx, nil, r.steps())
}

// steps returns the steps of an undo by a snapshot. Until the restore is requested from the master, an error puts the table into service again.
func (r *restore) steps() []checkpoint.Step {
	st := r.undo.job
	begun := func() bool { return st.Undo != nil && st.Undo.From != nil }
	asked := func() bool { return begun() && st.Undo.Restoring != nil }
	all := []checkpoint.Step{
		st.BeginStep(r.undo.options.Version, nil),
		{Name: "delete snapshots of earlier attempts", Run: r.undo.dropPresent},
		{Name: "predict what is lost, and record the step in the journal", Done: begun, Run: r.begin},
	}
	if r.inPlace() {
		all = append(all, checkpoint.Step{Name: "take the table out of service", Done: asked, Run: r.takeOffline})
	} else {
		all = append(all, checkpoint.Step{Name: "record that the new table is made", Done: asked, Run: func(context.Context) error { return r.ask() }})
	}
	all = append(all, checkpoint.Step{Name: "restore the snapshot", Done: func() bool { return st.Undo.Restored }, Run: r.restore})
	if r.inPlace() {
		all = append(all, checkpoint.Step{Name: "put the table into service", Done: func() bool { return st.Undo.Out[0] }, Run: r.putOnline})
	}
	return append(all, checkpoint.Step{Name: "verify the table", Done: func() bool { return st.Undo.Out[0] }, Run: r.verifyRestored}, checkpoint.Step{Name: "end the undo", Run: r.endRestore})
}

// suits refuses a snapshot that is not of the table before the load, and a user without the permission to restore it.
func (r *restore) suits(ctx context.Context) error {
	name := r.from.Snapshot
	info, ok, err := r.undo.cluster.FindSnapshot(ctx, name)
	switch {
	case err != nil:
		return cluster.Failure(err)
	case !ok:
		return fail.Errorf(fail.Input, "snapshot %s does not exist, or this user may not see it: list_snapshots in HBase's shell shows which there are", name)
	case info.Table != r.table:
		return fail.Errorf(fail.Check, "snapshot %s is of table %s, and job %s loaded table %s", name, info.Table, r.job, r.table)
	case name == r.snapshot && r.created != 0 && info.Created != r.created:
		return fail.Errorf(fail.Check, "snapshot %s is not the one that job %s took before its load: it was taken again", name, r.job)
	case name != r.snapshot && !r.began.IsZero() && info.Created >= r.began.UnixMilli():
		return fail.Errorf(fail.Check, "snapshot %s was taken at %s, when the load had begun: name one from before", name, time.UnixMilli(info.Created).UTC().Format(time.RFC3339))
	}
	r.from.Created = info.Created
	if err := r.undo.cluster.MayRestore(ctx, info, r.into, r.inPlace()); err != nil {
		return cluster.Failure(err)
	}
	return cluster.Failure(r.undo.cluster.Lacks(ctx, r.table, loader.Admin)) // for its snapshots, and to take it out of service
}

// free refuses a table that is not in service, and a new table that exists.
func (r *restore) free(ctx context.Context) error {
	now, err := r.undo.cluster.Describe(ctx, r.table)
	if err != nil {
		return cluster.Failure(err)
	}
	if now.State != loader.Enabled {
		if err := job.CheckQuota(ctx, r.undo.cluster, r.table); err != nil { // HBase would not enable it
			return err
		}
		return fail.Errorf(fail.Check, "table %s is %s: enable it first", r.table, now.State)
	}
	if (r.undo.options.Verify == "range" && r.stamp != 0 || r.table.LinksAsReferences()) && r.inPlace() {
		if err := r.undo.cluster.MayRead(ctx, r.table, now.FamilyNames()...); err != nil {
			return cluster.Failure(err)
		}
	}
	if !r.inPlace() {
		switch _, err := r.undo.cluster.Describe(ctx, r.into); {
		case err == nil:
			return fail.With(fail.Check, setting.Errorf("table %s exists already: name a new one with %s", r.into, setting.Into))
		case !errors.Is(err, loader.ErrTableNotFound):
			return cluster.Failure(err)
		}
	}
	return nil
}

// others returns the jobs of the state directory that have loaded into the table since the snapshot, except for those of other clusters. It refuses the undo if one of them works on the
// table now.
func (r *restore) others() (names []string, err error) {
	jobs, err := status.ReadAll(r.undo.state)
	for _, s := range jobs {
		if s.Job == r.job || !loads(s, r.table.String()) {
			continue
		}
		if trace, err := status.ReadTrace(s.Dir); err == nil && r.undo.elsewhere(trace.Plan) {
			continue
		}
		switch {
		case s.State == history.JobRunning && r.inPlace():
			return nil, fail.Errorf(fail.Check, "job %s works on table %s now: it would fail when the table is out of service", s.Job, r.table)
		case s.Loaded > 0 && s.Undo != history.UndoDone && s.Last.UnixMilli() > r.from.Created:
			names = append(names, s.Job)
		}
	}
	slices.Sort(names)
	return names, err
}

// elsewhere reports whether a job's table is on another cluster. Plans of older versions do not have the cluster.
func (u *undo) elsewhere(p *history.PlanRecord) bool {
	return p != nil && p.Made != nil && p.Made.Cluster != u.clusterID
}

// loads reports whether a job loads into a table.
func loads(s *status.State, table string) bool {
	return s.Table == table || slices.ContainsFunc(s.Tables, func(t history.TableState) bool { return t.Table == table })
}

// predict computes what becomes visible again and what is lost, from a snapshot of the current table, and refuses losses of others.
func (r *restore) predict(ctx context.Context) error {
	if err := r.suits(ctx); err != nil {
		return err
	}
	if err := r.free(ctx); err != nil {
		return err
	}
	r.undo.options.Events.Phase("snapshot")
	return r.withPresent(ctx, func(src *tablesource.Source) error {
		if err := r.lookAt(ctx, src.Snapshot); err != nil {
			return err
		}
		r.seen = src.Snapshot
		return r.judge()
	})
}

// open opens the snapshot from before the load.
func (r *restore) open(ctx context.Context) (err error) {
	if r.before == nil {
		r.before, err = tablesource.Open(ctx, r.undo.env, tablesource.Ref{Snapshot: r.from.Snapshot}, tablesource.Options{FilesOnly: true})
	}
	return err
}

// lookAt compares a snapshot of the current table with the one from before the load.
func (r *restore) lookAt(ctx context.Context, now *snapshot.Snapshot) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	jobs, err := r.others()
	if err != nil {
		return err
	}
	settings, err := r.changed(now)
	if err != nil {
		return err
	}
	if err := r.unmerged(ctx, now); err != nil {
		return err
	}
	if err := r.openable(now); err != nil {
		return err
	}
	r.undo.options.Events.Phase("read")
	s, err := r.lossBy(ctx, r.before.Snapshot, now, r.undo.read)
	if err != nil {
		return tablesource.FilesFailure(err)
	}
	s.Jobs, s.Settings = jobs, settings
	r.result.Restore = s
	return nil
}

// notRestored returns the error for a table that differs from the snapshot.
func (r *restore) notRestored(format string, args ...any) error {
	kept := ""
	if r.inPlace() {
		kept = "; snapshot " + r.own().Snapshot + " of the table as it was before the undo is kept"
	}
	return fail.With(fail.Verify, setting.Errorf("table %s is not as snapshot %s: %s%s; the same command checks again, %s range ends the undo", r.into, r.from.Snapshot, fmt.Sprintf(format, args...), kept, setting.Verify))
}

// withdrawRestore puts the table into service and records that nothing was changed.
func (r *restore) withdrawRestore(ctx context.Context, cause error) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if r.inPlace() {
		if err := r.service(ctx, true); err != nil {
			return errors.Join(cause, fmt.Errorf("table %s may be out of service, the same command puts it into service: %w", r.table, err))
		}
	}
	r.undo.job.GiveBackTables(ctx, r.undo.cluster, r.undo.options.Events)
	if err := r.undo.dropSnapshots(ctx); err != nil {
		return errors.Join(cause, err)
	}
	return errors.Join(cause, r.undo.job.Record(history.EventUndoing, history.UndoRecord{}))
}
