package job

import (
	"context"
	"slices"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/pipeline/mapreduce"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// OnYARN runs the YARN jobs of a job.
type OnYARN struct {
	Env     *cluster.Env
	Journal *checkpoint.Job
	Events  progress.Events
}

// Submitting implements [mapreduce.Journal].
func (y OnYARN) Submitting(s mapreduce.Submission) error {
	return y.Journal.Record(history.EventSubmitting, s)
}

// Submitted implements [mapreduce.Journal].
func (y OnYARN) Submitted(s mapreduce.Submission) error {
	return y.Journal.Record(history.EventSubmitted, s)
}

// Ended implements [mapreduce.Journal].
func (y OnYARN) Ended(s mapreduce.Submission, how string) error {
	return y.Journal.Record(history.EventEnded, history.EndedRecord{Tag: s.Tag, How: how})
}

// SameEngine refuses to build locally if a build on YARN has begun.
func (y OnYARN) SameEngine(asked *mapreduce.Settings) error {
	s := y.Journal.Submission
	if s == nil || asked != nil || y.Journal.Finished {
		return nil
	}
	return fail.With(fail.Config, setting.Errorf("an earlier attempt submitted this job to YARN (%s %s): %s yarn resumes it, %s ends it",
		s.Tag, s.Application, setting.Engine, setting.Restart))
}

// End ends the job's YARN job before the checkpoint is discarded.
func (y OnYARN) End(ctx context.Context) error {
	s := y.Journal.Submission
	if s == nil {
		return nil
	}
	return mapreduce.Kill(ctx, y.Env, *s)
}

// Build builds the HFiles of all tables with a YARN job, and writes their manifests. rejects and filtered are the local files for bad records and for
// records that the filter drops; empty for none.
func (y OnYARN) Build(ctx context.Context, s mapreduce.Settings, plan func(context.Context) (*share.Plan, error), tables []build.Table, st *staging.Dir, rejects, filtered string) ([]*manifest.Manifest, *result.YARN, error) {
	e := &mapreduce.Engine{Settings: s, Env: y.Env, Events: y.Events, Journal: y, Begun: y.Journal.Submission, Samples: samplesPerRegion, Rejects: rejects, Filtered: filtered}
	a, err := e.Build(ctx, plan, stageIn(st).out, st.Location)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range a.Regions {
		if err := y.Journal.Record(history.EventWritten, w); err != nil {
			return nil, nil, err
		}
	}
	return a.Manifests, onYARN(y.Journal.Submission, a), fail.With(fail.HDFS, build.WriteManifests(ctx, tables, a.Manifests))
}

// Drop removes the files of a YARN job next to its HFiles, after these were taken.
func (y OnYARN) Drop(ctx context.Context, s *mapreduce.Submission) {
	if s == nil || y.Journal.Check(ctx) != nil {
		return
	}
	if err := mapreduce.Forget(ctx, y.Env, *s); err != nil {
		y.Events.Warn("files of the job on YARN are left in the staging directory", "path", s.Dir, "error", err)
	}
}

func (j *run) yarn() OnYARN { return OnYARN{j.env, j.job, j.options.Events} }

// onYARN returns the description of a YARN job for a result.
func onYARN(s *mapreduce.Submission, a *mapreduce.Adopted) *result.YARN {
	y := &result.YARN{Maps: len(a.Maps), Reduces: len(a.Reduces), Tasks: append([]result.Task{}, a.Tasks...)}
	if s != nil {
		y.Application = s.Application
	}
	for _, t := range a.Tasks {
		if t.Kind == "map" {
			y.Shuffled += t.Shuffled
		}
		y.Failed += t.Attempts - 1
		if t.Straggler {
			y.Stragglers++
		}
	}
	return y
}

// sharePlan returns the job's plan for the tasks on the nodes, with qualified table names.
func (j *run) sharePlan(ctx context.Context) (*share.Plan, error) {
	asked := j.spec.Spec()
	asked.Timestamp, asked.Tables = j.work.Timestamp, slices.Clone(asked.Tables)
	for i, t := range asked.Tables {
		name, err := loader.ParseTableName(t.Table)
		if err != nil {
			return nil, fail.With(fail.Config, err)
		}
		asked.Tables[i].Table = name.String()
	}
	s, err := asked.Resolve()
	if err != nil {
		return nil, err
	}
	shapes := make([]build.Shape, len(j.targets))
	for i, t := range j.targets {
		shapes[i] = build.Shape{Families: t.families, Splits: t.plan.Ranges.Splits(), Near: t.facts.Near}
	}
	p, err := share.Make(ctx, j.env, s, shapes, build.WorkOptions{Workers: j.options.Workers, Memory: j.options.Memory, SplitSize: mapreduce.ShipSize})
	if err != nil {
		return nil, err
	}
	// Use the weights of an earlier submission: a job that is submitted again must distribute regions as before.
	if p.Weights = j.job.History.Weights; len(p.Weights) != p.Regions() {
		if p.Weights, err = estimate.Weights(ctx, j.env, s, shapes, build.WorkOptions{Workers: j.options.Workers, Memory: j.options.Memory}); err != nil {
			return nil, err
		}
	}
	return p, j.sameFiles(p)
}

// sameFiles checks that a plan for tasks has the same input as the job's plan.
func (j *run) sameFiles(p *share.Plan) error {
	if what := p.Differs(j.input.Source.Files()); what != "" {
		return fail.Errorf(fail.Input, "the input has changed since the job began: give the same command again (%s)", what)
	}
	return nil
}

// CheckEngine refuses jobs that cannot run on YARN; y is nil for a local build.
func CheckEngine(env *cluster.Env, y *mapreduce.Settings, state checkpoint.Options, s spec.Job) error {
	if y == nil {
		return nil
	}
	if err := y.Validate(); err != nil {
		return err
	}
	if state.Dir == "" {
		return fail.With(fail.Config, setting.Errorf("%s yarn needs %s: without a journal the job would be submitted twice", setting.Engine, setting.State))
	}
	return mapreduce.RefuseInputs(env, s)
}
