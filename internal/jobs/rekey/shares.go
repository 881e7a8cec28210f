package rekey

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/setting"
)

// divided reports whether other processes build the files, from the current snapshot.
func (j *run) divided() bool {
	return j.job.Rekey != nil && j.job.Rekey.Shares != "" || j.job.Submission != nil
}

// sharePlan returns the job's plan for other processes.
func (j *run) sharePlan(ctx context.Context) (*share.Plan, error) {
	p, err := j.planned()
	if err != nil {
		return nil, err
	}
	k := j.job.Rekey
	ref := tablesource.Ref{Snapshot: k.Snapshot}
	src, err := tablesource.Open(ctx, j.env, ref, tablesource.Options{FilesOnly: true, Choice: j.req.chosen})
	if err != nil {
		return nil, err
	}
	src.Mount(j.env, ref.String(), nil)
	return share.MakeRekey(ctx, j.env, spec.Spec{Inputs: []string{ref.String()}, Duplicates: k.Duplicates, BadRecords: k.BadRecords}, src.Snapshot, p, j.job.Plan.Staging, j.options.WorkOptions)
}

func (j *run) yarn() job.OnYARN {
	return job.OnYARN{Env: j.env, Journal: j.job, Events: j.options.Events}
}

// engine refuses to mix shares, YARN and local builds.
func (j *run) engine() error {
	if k := j.job.Rekey; j.options.YARN != nil && k != nil && k.Shares != "" {
		return fail.With(fail.Config, setting.Errorf("the job is planned in shares: leave %s out, or discard the plan with %s", setting.Engine, setting.Restart))
	}
	s, err := spec.Spec{Inputs: []string{j.input()}}.ResolveTable()
	if err != nil {
		return err
	}
	return errors.Join(job.CheckEngine(j.env, j.options.YARN, j.options.State, s), j.yarn().SameEngine(j.options.YARN))
}

// onYARN builds the files with a YARN job.
func (j *run) onYARN(ctx context.Context, p *newkeys.Plan, out build.Output) (*manifest.Manifest, error) {
	rejects := ""
	if !j.req.budget.None() {
		rejects = j.buildOptions().RejectFile
	}
	m, onYARN, err := j.yarn().Build(ctx, *j.options.YARN, j.sharePlan, []build.Table{{Plan: p.Build(j.source), Out: out}}, j.dir, rejects, "")
	if s := j.job.Submission; s != nil && fail.KindOf(err) == fail.BadRows && j.yarn().End(ctx) == nil { // another attempt submits it again
		err = errors.Join(err, j.yarn().Ended(*s, "its rows are refused"))
		j.yarn().Drop(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	j.result.YARN = onYARN
	return m[0], nil
}

// divide writes the plan with which other processes build the files. From then on the journal has it, and this job builds no files itself.
func (j *run) divide(ctx context.Context) error {
	k := j.job.Rekey
	if j.job.Built != nil || len(j.job.Attempts) > 0 && k.Shares == "" {
		return fail.Errorf(fail.Check, "an earlier attempt has begun to build or load: the same command without a plan resumes it, %s discards it", setting.Restart)
	}
	shares, err := j.sharePlan(ctx)
	if err != nil {
		return err
	}
	shares, err = shares.WriteKnown(ctx, j.env, j.options.PlanTo, k.Shares)
	if err == nil && k.Shares == "" { // the plan of the file may be that of an attempt that was killed here
		now := *k
		now.Shares = shares.Checksum
		err = j.job.Record(checkpoint.EventRekey, now)
	}
	if err == nil {
		j.options.Events.Note("plan for shares", "file", j.options.PlanTo, "regions", shares.Regions(), "splits", len(shares.Parts), "staging", j.job.Plan.Staging)
	}
	return err
}

// merged takes the files that merges of shares have written, and reads each completely.
func (j *run) merged(ctx context.Context, out build.Output) (*manifest.Manifest, error) {
	m, err := share.MergedFiles(ctx, out.FS, out.Dir, j.job.Rekey.Shares)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail.Errorf(fail.Input, "not all files of the job's shares are in %s: build the shares, merge, and run the command again", j.job.Plan.Staging)
	}
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	var work []filecheck.Target
	for _, f := range m.Files {
		work = append(work, filecheck.Target{File: f, Path: path.Join(out.Dir, f.Name)})
	}
	damaged, err := (&filecheck.Checker{FS: out.FS, Gate: j.options.Gate, Events: j.options.Events}).All(ctx, work)
	if err != nil {
		return nil, fail.With(fail.HDFS, fmt.Errorf("read the files before they are loaded: %w", err))
	}
	for _, i := range slices.Sorted(maps.Keys(damaged)) {
		err = errors.Join(err, damaged[i])
	}
	if j.proven = err == nil; !j.proven {
		return nil, fail.With(fail.Input, fmt.Errorf("nothing was loaded: %w (remove what is in %s, and merge again)", err, j.job.Plan.Staging))
	}
	return m, nil
}
