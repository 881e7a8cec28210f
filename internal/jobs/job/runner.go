package job

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"sync"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// run is the work of one process on a job.
type run struct {
	env     *cluster.Env
	spec    spec.Job
	options RunOptions
	job     *checkpoint.Job
	cluster *loader.Cluster
	facts   *cluster.Facts
	result  *result.Result

	started time.Time

	fresh   *freshTable // nil: the job loads the table that it names
	targets []*target   // all tables of the job, in loading order; facts and work are also those of the first one

	work    *cells.Plan
	streams *streams.Inputs
	input   *build.Input // nil: a stream or a table's snapshot is gone, and no longer needed
	stage   *stage
	tables  []*tablesource.Source // input tables

	moves bool   // the files of the caller's directory are moved into the table: there are no others
	local string // local directory where the files are built; empty: they are built in the staging directory

	markers func(ctx context.Context) (*stage, error) // creates the directory of delete markers; nil: they are written next to the HFiles

	tablesOver bool // input tables are not read again, and there is no input
	proven     bool // all files are of an earlier attempt, and were checked

	others  func() ([]fs.FileInfo, error) // list of the directory for staging directories; nil: not needed
	refused func() error                  // waits for the preflight that runs during the build; nil: finished, or none
	newBase bool                          // a preflight has created the directory above the staging directory

	copying sync.WaitGroup // copying of the journal to the staging directory
}

// plan makes the job's plan, or uses that of the journal if inputs and table have
// not changed.
func (j *run) plan(ctx context.Context) error {
	for i, family := range j.targets[0].families {
		if table := j.facts.Families[i]; j.job.Built == nil && family.Overrides(table) {
			j.options.Events.Warn("the job's settings override the table's", "table", table.String(), "job", family.String())
		}
	}
	if err := j.openInput(ctx); err != nil {
		return err
	}
	salt, err := j.spec.Salt()
	if err != nil {
		return err
	}
	now, err := j.planRecord(ctx)
	if err != nil {
		return err
	}
	for i, t := range j.targets {
		p := now.At(i)
		if p.Table, p.Family = t.Table, t.families[0]; p.Mapping != nil {
			p.Families = t.families
		}
	}
	if old := j.job.History.Plan; old != nil {
		if err := j.job.SamePlan(now); err != nil {
			return err
		}
		if err := j.sameTables(ctx); err != nil {
			return err
		}
		for i, t := range j.targets {
			if t.plan, err = old.Of(i).BuildPlan(t.families[0], salt); err != nil {
				return err
			}
			t.plan.Stated = t.Regions
		}
		j.work = j.targets[0].plan
		if err := j.sameReplication(); err != nil {
			return err
		}
		return j.moveStaging(ctx, *j.job.History.Plan)
	}
	if err := j.planTables(ctx, &now); err != nil {
		return err
	}
	now.Timestamp, now.Given, now.Replicate = j.work.Timestamp, j.spec.Timestamp != 0, j.spec.Replicate
	now.Splits = rowkey.Keys(j.facts.Splits) // null without split points, as in other versions
	if err := freshTimestamp(ctx, j.cluster, &now, j.options.State.Dir, setting.Textf("give a later %s, or none", setting.Timestamp), j.options.Events); err != nil {
		return err
	}
	return j.job.Record(history.EventPlan, now)
}

// sameReplication refuses another setting for replication than that of a load that has begun. Before a load, the new setting is recorded.
func (j *run) sameReplication() error {
	p := *j.job.History.Plan
	switch {
	case j.job.Finished || p.Replicate == j.spec.Replicate:
		return nil
	case j.job.AnyLoading():
		return otherReplication(cmp.Or(p.Replicate, "yes"), j.spec.Replicate == "no")
	}
	p.Replicate = j.spec.Replicate
	return j.job.Record(history.EventPlan, p)
}

// otherReplication returns an error if a load is resumed with another setting than it has begun with, if that is known: the undo of the load reaches
// the peers that all of its files have reached.
func otherReplication(was string, unreplicated bool) error {
	if was == "" || (was == "no") == unreplicated {
		return nil
	}
	return fail.With(fail.Check, setting.Errorf("files of this job are loaded with %s %s: an undo could not take all of them from the peers, so resume it with the same", setting.Replicate, was))
}

// choosePlace returns the staging directory of a new job, as a URI; empty for a job that builds on local disk.
func (j *run) choosePlace(ctx context.Context) (string, error) {
	if j.local != "" {
		return "", nil
	}
	l, err := staging.Choose(ctx, j.env, j.options.Staging, j.work.Table, j.work.Timestamp)
	if err != nil {
		return "", err
	}
	return l.String(), j.refuseElsewhere(ctx, l)
}

// sameTables refuses tables that are not those of the plan. Tables of several clusters are checked by the load into each.
func (j *run) sameTables(ctx context.Context) error {
	if j.local != "" {
		return nil
	}
	kind := fail.Check
	if j.job.Finished {
		kind = fail.Verify
	}
	for _, t := range j.targets {
		if err := j.recreated(ctx, j.job.Plan.At(t.number).Made, t.facts, kind); err != nil {
			return err
		}
	}
	return nil
}

// planRecord returns the record of the plan, as far as it is known without the tables.
func (j *run) planRecord(ctx context.Context) (history.PlanRecord, error) {
	if j.input == nil {
		return j.lostPlanRecord(ctx)
	}
	places, err := j.env.Places(j.spec.Inputs)
	if err != nil {
		return history.PlanRecord{}, err
	}
	var formats []string
	files := j.input.Source.Files()
	for _, f := range files {
		formats = append(formats, history.FormatOf(f))
	}
	p := history.Asked(j.spec, formats)
	p.Job, p.Columns, p.Tables = j.job.ID, j.input.Source.Columns(), history.AskedTables(j.spec, formats)
	for i, f := range files {
		r := history.InputRecordOf(f)
		r.Place, r.Format = places[f.Input](f.Name), formats[i]
		p.Inputs = append(p.Inputs, j.streamed(r, f.Input))
	}
	return p, nil
}

// steps returns the steps of a run: one build of all tables, then the load and the verification of each.
func (j *run) steps() []checkpoint.Step {
	var files []*built
	fills := make([]*filling, len(j.targets))
	steps := []checkpoint.Step{
		j.job.BeginStep(j.options.State.Version, &j.result.Attempt),
		{Name: "keep the tables quiet", Run: j.keepQuiet},
		{Name: "build the files", Run: func(ctx context.Context) (err error) { files, err = j.buildPublished(ctx); return err }},
		{Name: "take the snapshot", Gate: true, Run: j.snapshot},
		{Name: "compare with what is replaced", Run: func(ctx context.Context) error { return j.replace(ctx, files[0]) }},
	}
	for i, t := range j.targets {
		f := &filling{run: j, target: t}
		fills[i] = f
		steps = append(steps,
			checkpoint.Step{Name: "load " + t.Table, Gate: i > 0, Run: func(ctx context.Context) error { return f.load(ctx, files[i]) }},
			checkpoint.Step{Name: "verify " + t.Table, Gate: true, Run: f.verify})
	}
	for _, t := range j.targets {
		steps = append(steps, checkpoint.Step{Name: "ask for compactions of " + t.Table, Run: func(ctx context.Context) error { return j.compactLoaded(ctx, t.facts) }})
	}
	steps = append(steps, checkpoint.Step{Name: "give the tables back", Run: j.giveBack}, checkpoint.Step{Name: "delete older snapshots", Run: j.dropOlder})
	return append(steps, checkpoint.Step{Name: "end the job", Run: func(ctx context.Context) error { return j.end(ctx, fills) }})
}

// buildPublished builds the files, and copies the journal next to them. HBase is not called before the copy exists.
func (j *run) buildPublished(ctx context.Context) ([]*built, error) {
	before := j.job.Built
	files, err := j.buildChecked(ctx)
	if err == nil && j.job.Built != before { // otherwise built by an earlier attempt
		j.copying.Go(func() { j.job.Publish(ctx, j.stage.Dir, j.options.Events) })
	}
	return files, err
}

// end records that the job is done, and removes temporary files. Every table must be verified.
func (j *run) end(ctx context.Context, all []*filling) error {
	if i := slices.IndexFunc(all, func(f *filling) bool { return f.result == nil || f.result.Verify == nil }); i >= 0 {
		return fail.Errorf(fail.Unexpected, "table %s is not verified", j.targets[i].Table)
	}
	j.job.EndPrepared(ctx, j.env, j.cluster, j.options.Events)
	j.result.Elapsed = time.Since(j.started)
	return j.job.End(ctx, j.result, j.stage.Dir, j.options.Keep, j.options.Events)
}

// reopen creates the staging directory, or reopens that of an earlier attempt.
func (j *run) reopen(ctx context.Context) (err error) {
	if j.local != "" {
		j.stage, err = localStage(j.local)
	} else if j.stage, err = j.stagedBefore(ctx); err == nil {
		err = j.job.CheckCopy(ctx, j.stage.Dir)
	}
	if err != nil {
		return err
	}
	j.stage.out.Uploads = upload.NewLimiter(j.options.Uploads)
	if err := j.stageTables(ctx); err != nil || j.job.AnyLoading() {
		return err
	}
	return j.job.Resume().KeepWritten(ctx, j.buildTables())
}

// prove checks the files that earlier attempts have written, before the load has begun.
func (j *run) prove(ctx context.Context) error {
	if j.job.AnyLoading() || len(j.job.Written) == 0 {
		return nil
	}
	if err := j.job.Resume().CheckWritten(ctx, j.buildTables(), j.options.Gate, j.options.Events); err != nil {
		return err
	}
	j.proven = j.job.Built != nil
	return nil
}
