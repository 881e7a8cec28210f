package rekey

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// buildOptions returns the options of the build.
func (j *run) buildOptions() newkeys.Options {
	o := j.req.options(j.options.WorkOptions)
	if o.RejectFile == "" {
		o.RejectFile = filepath.Join(j.job.Dir, "rejects.keys")
		_ = source.NewRejectFile(o.RejectFile).RemoveTemp() // of an attempt that was killed; the job's lock is held
	}
	return o
}

func (q *resolved) options(w build.WorkOptions) newkeys.Options {
	return newkeys.Options{RejectFile: w.RejectFile, Options: build.Options{Workers: w.Workers, Memory: w.Memory, SpillDir: w.SpillDir, SpillLimit: w.SpillLimit, Budget: q.budget, Events: w.Events, Gate: w.Gate}}
}

// plan returns the plan of the build, for the families and regions of the new table.
func (q *resolved) plan(table string, families []spec.Family, splits [][]byte, now time.Time) (*newkeys.Plan, error) {
	ranges, err := partition.New(splits)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	return &newkeys.Plan{Table: table, Key: q.key, OldKey: q.oldKey, Families: families, Ranges: ranges, Now: now, Choice: q.chosen, Versions: q.Versions, Duplicates: q.policy}, nil
}

// planned returns the plan of the build, from the journal.
func (j *run) planned() (*newkeys.Plan, error) {
	p, err := j.req.plan(j.job.Plan.Table, j.facts.Families, rowkey.Rows(j.job.Plan.Splits), j.now())
	if err == nil {
		p.Near = j.facts.Near
	}
	return p, err
}

// build builds the files, or the missing ones.
func (j *run) build(ctx context.Context) (*manifest.Manifest, error) {
	p, err := j.planned()
	if err != nil {
		return nil, err
	}
	out := build.Output{FS: j.dir.FS, Dir: j.dir.Location.Path, FileMode: 0o666, DirMode: 0o777, Identify: true, Made: true, Uploads: upload.NewLimiter(j.options.Uploads), Policies: build.Policies{Of: j.facts.Policies}}
	var resume *build.Resume
	if j.job.Log != nil {
		resume = j.job.Resume()
		if err := j.prove(ctx, resume, out); err != nil {
			return nil, err
		}
	}
	if j.job.Built != nil {
		m, err := manifest.Read(ctx, out.FS, out.Dir)
		if err != nil {
			return nil, fail.With(fail.HDFS, err)
		}
		j.options.Events.Note("files are built already", "files", m.HFiles)
		j.job.EndSpill(j.options.Events)
		j.result.Manifest = m
		return m, nil
	}
	if j.source == nil {
		if err := j.open(ctx); err != nil {
			return nil, err
		}
	}
	var m *manifest.Manifest
	switch j.proven = false; {
	case j.job.Rekey.Shares != "":
		m, err = j.merged(ctx, out)
	case j.options.YARN != nil:
		m, err = j.onYARN(ctx, p, out)
	default:
		m, err = newkeys.Build(ctx, j.source, p, out, j.buildOptions(), resume)
	}
	if err != nil {
		if j.job.Sorted == nil || len(j.job.Sorted.Runs) == 0 || errors.Is(err, extsort.ErrCorrupt) {
			j.job.EndSpill(j.options.Events) // incomplete runs are useless
		}
		return nil, err
	}
	submitted := j.job.Submission // the record clears the submission
	if err := j.job.Record(checkpoint.EventBuilt, checkpoint.BuiltRecord{Manifest: m.Summary()}); err != nil {
		return nil, err
	}
	j.yarn().Drop(ctx, submitted)
	j.job.EndSpill(j.options.Events)
	j.job.Publish(ctx, j.dir, j.options.Events)
	j.result.Manifest = m
	return m, nil
}

// prove checks the files of earlier attempts, unless a load of them has begun. Damaged files are built again.
func (j *run) prove(ctx context.Context, resume *build.Resume, out build.Output) error {
	if err := j.job.CheckCopy(ctx, j.dir); err != nil || j.job.Loading || j.divided() {
		return err
	}
	if b := j.job.Built; b != nil && b.HFiles > 0 && len(j.job.Written) == 0 { // built by an earlier version
		return j.job.ForgetBuild()
	}
	written := []build.Table{{Out: out}}
	if err := resume.KeepWritten(ctx, written); err != nil || len(j.job.Written) == 0 {
		return err
	}
	if err := resume.CheckWritten(ctx, written, j.options.Gate, j.options.Events); err != nil {
		return err
	}
	j.proven = j.job.Built != nil
	return nil
}

// load loads the files, or the remaining ones, into the table.
func (j *run) load(ctx context.Context, m *manifest.Manifest) error {
	if !j.job.Loading {
		if err := j.req.vacant(ctx, j.cluster); err != nil {
			return err
		}
	}
	s := job.Staged{Env: j.env, Cluster: j.cluster, Facts: j.facts, Dir: j.dir, Files: m.Files, Time: m.Timestamp, Proven: j.proven, Copied: true, Journal: j.job, Made: j.job.Plan.Made}
	err := s.Load(ctx, job.LoadOptions{RunOptions: j.options.RunOptions}, j.result)
	if err != nil {
		j.job.Fail(ctx, err) // so that the copy includes the failure
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		j.job.Publish(ctx, j.dir, j.options.Events)
	}
	return err
}
