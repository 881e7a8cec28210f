package job

import (
	"context"
	"errors"
	"slices"

	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/source"
)

// openInput opens the inputs, and reads streams, unless the job does not need them any more.
func (j *run) openInput(ctx context.Context) (err error) {
	if j.streams, err = streams.Find(ctx, j.env.Source, j.spec.Inputs, j.options.Stdin, j.job.Streams); err != nil {
		return err
	}
	if j.streams.Waiting(j.job.Streams) {
		if err := j.checkBefore(ctx); err != nil {
			return err
		}
	}
	if j.tablesOver {
		return nil
	}
	needed := streams.Needed{Bound: j.job.History.Plan != nil, Built: j.job.Built != nil, Over: j.job.Finished || j.job.AnyLoading()}
	var resume *build.Resume
	if j.job.Log != nil {
		resume = j.job.Resume()
	}
	j.input, err = build.OpenStreams(ctx, j.streams, j.spec, j.options.WorkOptions, resume, needed)
	if err != nil && !needed.Bound {
		return errors.Join(err, j.abandonStreams(err))
	}
	return err
}

// checkBefore checks all other prerequisites before a stream is read, since it can be read only once.
func (j *run) checkBefore(ctx context.Context) error {
	for _, t := range j.targets {
		s := t.Job
		if modulus, err := s.SaltModulus(t.facts.Splits); err == nil {
			s.Regions = modulus
		}
		r, err := preflight.Run(ctx, j.env, s, preflight.Options{WorkOptions: j.options.WorkOptions, Staging: j.options.Staging, Stage: j.options.Stage, Cluster: j.cluster, Making: j.making, Gone: j.recordGone, Snapshot: j.options.Snapshot != ""})
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// abandonStreams removes copies of streams if there is no plan, and cannot be one with this input and these settings.
func (j *run) abandonStreams(cause error) error {
	if kind := fail.KindOf(cause); j.job.Log == nil || kind != fail.BadRows && kind != fail.Input && kind != fail.Config {
		return nil
	}
	return j.job.Resume().DropStreams()
}

// dropStreams removes the copies of streams when they are no longer needed.
func (j *run) dropStreams() {
	if j.job.Log == nil {
		return
	}
	if err := j.job.Resume().DropStreams(); err != nil {
		j.options.Events.Warn("copies of streams are left behind", "error", err)
	}
}

// streamed returns the record of an input as a stream, if it is one.
func (j *run) streamed(r history.InputRecord, input int) history.InputRecord {
	if d, ok := j.streams.Digest(input); ok {
		r.Place = j.streams.Place(input)
		return r.AsStream(d)
	}
	return r
}

// lostPlanRecord returns the plan of a job whose streams are not read again, with the columns and formats of the journal. It lists all other inputs.
func (j *run) lostPlanRecord(ctx context.Context) (history.PlanRecord, error) {
	old := *j.job.History.Plan
	p := old.Asked(j.spec)
	p.Job = j.job.ID
	for i := range j.spec.Inputs {
		place := j.streams.Place(i)
		if at := slices.IndexFunc(old.Inputs, func(f history.InputRecord) bool { return f.CRC32C != nil && f.Place == place }); at >= 0 {
			p.Inputs = append(p.Inputs, j.streamed(old.Inputs[at], i))
		}
	}
	before, err := j.readBefore(&old)
	if err != nil {
		return p, err
	}
	p.Inputs = append(p.Inputs, before...)
	others := slices.DeleteFunc(j.streams.Others(j.spec.Inputs), j.notRead)
	if len(others) == 0 {
		return p, nil
	}
	files, err := source.List(ctx, j.env.Source, others, build.SelectionOf(j.spec))
	if err != nil {
		return p, fail.With(fail.Input, err)
	}
	places, err := j.env.Places(others)
	if err != nil {
		return p, err
	}
	for _, f := range files {
		r := history.InputRecordOf(f)
		r.Place = places[f.Input](f.Name)
		p.Inputs = append(p.Inputs, r)
	}
	return p, nil
}

// addInputs adds the inputs, as read now or by an earlier attempt.
func (j *run) addInputs(s *progress.Start) {
	if j.input != nil {
		j.input.AddTo(s)
		return
	}
	for _, f := range j.job.History.Plan.Inputs {
		s.Files++
		s.Bytes += f.Size
		s.Sources = append(s.Sources, progress.InputFile{Path: f.Input, Bytes: f.Size})
	}
}
