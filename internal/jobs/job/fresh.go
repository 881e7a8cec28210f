package job

import (
	"context"
	"math"

	"bulkload/internal/base/abilities"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/fresh"
	"bulkload/internal/jobs/replace"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// freshTable is a table that a job makes to replace its own.
type freshTable struct {
	fresh.Request
	job spec.Job // the job that fills only the new table
}

// inPlaceOf returns the table to make, nil for a job that loads the table that it names.
func inPlaceOf(o RunOptions, s spec.Job) (*freshTable, error) {
	wrong := func(format string, args ...any) (*freshTable, error) {
		return nil, fail.With(fail.Config, setting.Errorf(format, args...))
	}
	switch {
	case o.Into == "" && o.Splits == nil:
		return nil, nil
	case o.Into == "":
		return wrong("%s needs %s: only a new table gets split points", setting.Splits, setting.Into)
	case !s.Replace:
		return wrong("%s needs %s: it names a table that replaces the job's; to load another table give %s", setting.Into, setting.Replace, setting.Table)
	case s.Several():
		return nil, fail.With(fail.Config, abilities.Refusal(abilities.Into, abilities.Several))
	}
	old, err := loader.ParseTableName(s.Table)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	into, err := loader.ParseTableName(o.Into)
	if err != nil {
		return wrong("%s: %w", setting.Into, err)
	}
	if into == old {
		return wrong("%s names table %s, which the new table replaces: name another one", setting.Into, old)
	}
	f := &freshTable{Request: fresh.Request{Old: old, New: into, Splits: o.Splits, Events: o.Events}, job: s}
	f.job.Table, f.job.Replace = into.String(), false
	if s.Key() != "" {
		f.Fits = func(splits [][]byte) error { _, err := f.job.SaltModulus(splits); return err }
	}
	return f, nil
}

// restarting returns a function that drops the new table, if there is one, before its job starts over.
func (f *freshTable) restarting(env *cluster.Env, c *loader.Cluster, st *checkpoint.Job, o RunOptions) func(context.Context) error {
	return func(ctx context.Context) error {
		switch {
		case f == nil:
			return nil
		case st.Finished:
			return fail.Errorf(fail.Check, "table %s replaced table %s, and readers may use it: %s would drop it (name another table with %s)", f.New, f.Old, setting.Restart, setting.Into)
		}
		return fresh.Forget(ctx, env, c, st, o.Events)
	}
}

// make creates the new table, or finds it.
func (f *freshTable) make(ctx context.Context, env *cluster.Env, c *loader.Cluster, st *checkpoint.Job) error {
	if st.Finished {
		return nil
	}
	if st.Fresh == nil {
		if err := f.makeable(ctx, env, c); err != nil {
			return err
		}
	}
	return fresh.Make(ctx, env, c, st, f.Request)
}

// makeable refuses what would stop the job after the new table is made: a space quota, and a snapshot of the old table that the user may not take or read.
func (f *freshTable) makeable(ctx context.Context, env *cluster.Env, c *loader.Cluster) error {
	if err := CheckQuota(ctx, c, f.New); err != nil || !f.compares() {
		return err
	}
	if err := c.Lacks(ctx, f.Old, loader.Admin); err != nil {
		return cluster.Failure(setting.Errorf("a snapshot of table %s is compared with the export (%s 100%% needs none): %w", f.Old, setting.MaxDeletes, err))
	}
	return tablesource.MayRead(ctx, env, f.Old)
}

// previousTable returns the table that the export is compared with.
func (j *run) previousTable() loader.TableName {
	if j.fresh != nil {
		return j.fresh.Old
	}
	return j.facts.Name
}

// compares reports whether the export is compared with the previous contents of the table.
func (j *run) compares() bool {
	if j.fresh != nil {
		return j.fresh.compares()
	}
	return j.spec.Replace
}

// compares reports whether the export is compared with a snapshot of the old table.
func (f *freshTable) compares() bool { return !f.job.MaxDeletes().All() }

// compareFresh refuses an export that lacks too many rows of the old table, before
// it is loaded. It does not compare if all rows may be missing.
func (j *run) compareFresh(ctx context.Context, b *built) error {
	j.result.Fresh = fresh.Result(j.job.Fresh, j.facts.Table)
	if j.job.AnyLoading() {
		return nil
	}
	if err := j.endCompared(ctx); err != nil {
		return err
	}
	before, err := j.fitsBefore(ctx, b)
	if err != nil {
		return err
	}
	r := *j.job.Fresh
	r.Compared, j.result.Fresh.Before = before, before
	return j.job.Record(history.EventFresh, r)
}

// fitsBefore compares the export with the old table if that is requested, and returns nil if not.
func (j *run) fitsBefore(ctx context.Context, b *built) (*result.Before, error) {
	if err := j.refuseExport(b.manifest, j.previousTable()); err != nil || !j.compares() {
		return nil, err
	}
	if !j.proven {
		if err := j.proveStaged(ctx, j.stage, b.manifest); err != nil {
			return nil, err
		}
		j.proven = true
	}
	j.options.Events.Phase("replace")
	before, err := j.surveyBefore(ctx, b)
	return before, j.afterCompared(ctx, err)
}

// surveyBefore compares the export with a snapshot of the old table.
func (j *run) surveyBefore(ctx context.Context, b *built) (*result.Before, error) {
	src, err := j.takeCompared(ctx)
	if err != nil {
		return nil, err
	}
	// Every cell of the old table is older than the new table: it is in the export or missing.
	s, err := replace.Compare(ctx, src.Snapshot, j.exported(b.manifest), replace.Options{Timestamp: math.MaxInt64, Now: src.Snapshot.Created, Events: j.options.Events})
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	limit := j.spec.MaxDeletes()
	before := &result.Before{Rows: s.Rows, Missing: s.Deleted, Changed: s.Changed, Limit: limit.String()}
	j.result.Fresh.Before = before
	j.options.Events.Note("table compared with the export", "rows", s.Rows, "missing", s.Deleted, "changed", s.Changed)
	if !limit.Allows(s.Deleted, s.Rows) {
		return nil, fail.With(fail.Check, setting.Errorf("table %s does not replace table %s, and nothing was loaded: %d of its %s are not in the export, the limit is %s; %s; the HFiles are kept in %s",
			j.fresh.New, j.fresh.Old, s.Deleted, setting.Count(s.Rows, "row"), limit, j.refusedHint(s, limit), j.stage.Location))
	}
	return before, nil
}
