package rekey

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/history"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
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
	if err := j.job.Record(history.EventBuilt, history.BuiltRecord{Manifest: m.Summary()}); err != nil {
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
		err = j.job.Record(history.EventRekey, now)
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
