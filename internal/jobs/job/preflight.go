package job

import (
	"context"
	"sync"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/pipeline/preflight"
	"bulkload/pkg/loader"
)

// buildChecked builds the files, or finds them built, and checks the prerequisites of the job. Both wait for servers, so they run concurrently: no
// file gets its final name before the check has ended. If the check refuses the job, the build is cancelled, its results are removed, and the refusal
// is the job's error, whatever the build's error is.
//
// The check comes first if the build begins with effects on others, an application on YARN or a snapshot of the table, or if the configuration does
// not show whether HBase's directory is in an encryption zone: rows must not be written outside of it. An attempt that resumes a load has no check:
// HBase may already have files.
func (j *run) buildChecked(ctx context.Context) ([]*built, error) {
	switch {
	case j.job.AnyLoading():
		return j.makeFiles(ctx)
	case j.options.YARN != nil || j.compares() || j.env.Conf.Value(cluster.RootDirKey) == "":
		if err := j.check(ctx); err != nil {
			return nil, err
		}
		return j.makeFiles(ctx)
	}
	before := j.earlier()
	building, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j.refused = sync.OnceValue(func() error { // nil for a job that is stopped
		err := j.check(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		cancel(err)
		return err
	})
	go j.refused()
	files, err := j.makeFiles(building)
	if refused := j.refused(); refused != nil {
		j.takeBack(ctx, before)
		return nil, refused
	}
	j.refused = nil
	if err == nil {
		err = context.Cause(ctx) // the check of a stopped job ends early
	}
	return files, err
}

// makeFiles opens the staging directory, and builds or finds the files of the job.
func (j *run) makeFiles(ctx context.Context) ([]*built, error) {
	if err := j.reopen(ctx); err != nil {
		return nil, err
	}
	j.result.Staging = j.stage.Location.String()
	j.options.Events.Start(j.start())
	p := j.work
	j.options.Events.Note("plan made", "regions", p.Ranges.Len(), "modulus", p.Modulus, "timestamp", p.Timestamp,
		"compression", p.Family.Compression, "encoding", p.Family.Encoding, "bloom", p.Family.Bloom)
	if err := j.prove(ctx); err != nil {
		return nil, err
	}
	if err := j.replaceable(ctx); err != nil {
		before := j.earlier()
		before.runs = true
		j.takeBack(ctx, before)
		return nil, err
	}
	return j.build(ctx)
}

// earlierWork describes the results that earlier attempts have left.
type earlierWork struct {
	files bool // complete files in the staging directory, or an application on YARN that writes there
	runs  bool // sorted runs of all rows
}

// earlier returns the results of earlier attempts, according to the journal.
func (j *run) earlier() earlierWork {
	return earlierWork{files: len(j.job.Written) > 0 || j.job.Submission != nil, runs: j.job.Sorted != nil && len(j.job.Sorted.Runs) > 0}
}

// takeBack removes the results of an attempt that the preflight has refused.
func (j *run) takeBack(ctx context.Context, before earlierWork) {
	if !before.runs && j.job.Log != nil {
		j.job.EndSpill(j.options.Events)
	}
	if before.files {
		return
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	err := j.job.Check(ctx)
	if err == nil {
		err = j.takeBackStaging(ctx)
	}
	if checkpoint.WarnLeft(j.options.Events, j.job.Plan.Staging, err); err == nil {
		j.result.Staging = ""
	}
}

// takeBackStaging removes the staging directory of the plan, even if its creation was incomplete.
func (j *run) takeBackStaging(ctx context.Context) error {
	if j.stage != nil {
		return j.stage.TakeBack(ctx, j.newBase)
	}
	dir, err := staging.At(j.env, j.job.History.Plan.Staging)
	if err != nil {
		return err
	}
	return dir.TakeBack(ctx, j.newBase)
}

// making records the directory that HBase creates for a check; gone records its removal.
func (j *run) making(table loader.TableName, make func() (string, error)) error {
	return j.job.RecordMade(history.EventChecking, func() (any, error) {
		token, err := make()
		return history.CheckingRecord{Table: table.String(), Token: token}, err
	})
}

func (j *run) recordGone(table loader.TableName, token string) error {
	return j.job.Record(history.EventChecking, history.CheckingRecord{Table: table.String(), Token: token, Gone: true})
}

// check checks the prerequisites of the job. It does not change the job.
func (j *run) check(ctx context.Context) error {
	for _, t := range j.targets {
		spec := t.Job
		spec.Regions = t.plan.Modulus // now independent of the split points
		o := preflight.Options{WorkOptions: j.options.WorkOptions, Staging: baseOf(j.job.History.Plan.Staging), Stage: j.options.Stage, Cluster: j.cluster, Streams: j.streams, Snapshot: j.options.Snapshot != "",
			Probe: staging.ProbeOf(j.job.History.Plan.Staging), Making: j.making, Gone: j.recordGone}
		o.SpillLimit = j.streams.Left(o.SpillLimit)
		r, err := preflight.Run(ctx, j.env, spec, o)
		if err != nil {
			return err
		}
		j.newBase = j.newBase || r.NewBase
		for _, c := range r.Checks {
			if c.Severity == preflight.SeverityWarning {
				j.options.Events.Warn("check", "check", c.Name, "warning", c.Message, "hint", c.Hint)
			}
		}
		if err := r.Err(); err != nil {
			return err
		}
	}
	return nil
}
