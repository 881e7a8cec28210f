package rekey

import (
	"context"
	"path"
	"path/filepath"

	"bulkload/pkg/build"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/fail"
	"bulkload/pkg/filecheck"
	"bulkload/pkg/job"
	"bulkload/pkg/manifest"
	"bulkload/pkg/partition"
	"bulkload/pkg/progress"
	"bulkload/pkg/staging"
	"bulkload/pkg/upload"
)

// options are those of the build.
func (j *run) options() Options {
	o := Options{Workers: j.o.Workers, Memory: j.o.Memory, SpillDir: j.o.SpillDir, SpillLimit: j.o.SpillLimit, Budget: j.req.budget, RejectFile: j.o.RejectFile, Events: j.o.Events, Gate: j.o.Gate}
	if o.RejectFile == "" {
		o.RejectFile = filepath.Join(j.st.Dir, "rejects.keys")
	}
	return o
}

// build makes the files. One that was stopped starts over: what it left is removed.
func (j *run) build(ctx context.Context) (*manifest.Manifest, error) {
	if j.st.Built != nil {
		m, err := j.earlier(ctx)
		if m != nil || err != nil {
			return m, err
		}
	}
	if err := j.dir.Remove(ctx); err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	var err error
	if j.dir, err = staging.Make(ctx, j.env, j.dir.Location); err != nil {
		return nil, err
	}
	p := &Plan{Table: j.st.Plan.Table, Key: j.req.key, OldKey: j.req.oldKey, Families: j.facts.Families, Now: j.now(), Since: j.req.Since, Duplicates: j.req.policy}
	var splits [][]byte
	for _, s := range j.st.Plan.Splits {
		splits = append(splits, s)
	}
	if p.Ranges, err = partition.New(splits); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	out := build.Output{FS: j.dir.FS, Dir: j.dir.Location.Path, FileMode: 0o666, DirMode: 0o777, Identify: true, Uploads: upload.NewLimiter(j.o.Uploads)}
	j.proven = false
	m, err := Build(ctx, j.source, p, out, j.options())
	if err != nil {
		return nil, err
	}
	if err := j.st.Record(checkpoint.EventBuilt, checkpoint.BuiltRecord{Manifest: m.Summary()}); err != nil {
		return nil, err
	}
	j.st.Publish(ctx, j.dir, j.o.Events)
	return m, nil
}

// earlier are the files of an earlier attempt, nil if one is damaged that no load
// has begun with.
func (j *run) earlier(ctx context.Context) (*manifest.Manifest, error) {
	m, err := manifest.Read(ctx, j.dir.FS, j.dir.Location.Path)
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	j.o.Events.Note("files are built already", "files", m.HFiles)
	if j.st.Loading {
		return m, nil
	}
	var targets []filecheck.Target
	for _, f := range m.Files {
		targets = append(targets, filecheck.Target{File: f, Path: path.Join(j.dir.Location.Path, f.Name)})
	}
	damaged, err := (&filecheck.Checker{FS: j.dir.FS, Gate: j.o.Gate, Events: j.o.Events}).All(ctx, targets)
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	if len(damaged) == 0 {
		j.proven = true
		return m, nil
	}
	for _, d := range damaged {
		j.o.Events.Warn("a file of an earlier attempt is damaged, and all are built again", "file", d.Path, "found", d.Error())
	}
	if err := j.st.Record(checkpoint.EventLost, build.LostRecord{Regions: []int{}}); err != nil {
		return nil, err
	}
	return nil, j.open(ctx)
}

// load brings the files into the table, or what is left of them.
func (j *run) load(ctx context.Context, m *manifest.Manifest) error {
	if err := progress.Pass(ctx, j.o.Gate); err != nil {
		return err
	}
	if !j.st.Loading {
		if err := j.vacant(ctx); err != nil {
			return err
		}
	}
	s := job.Staged{Env: j.env, Cluster: j.c, Facts: j.facts, Dir: j.dir, Manifest: m, Proven: j.proven, Journal: j.st}
	return s.Load(ctx, job.LoadOptions{Stage: j.o.Stage, MaxFiles: j.o.MaxFiles, LoadConcurrency: j.o.LoadConcurrency, Uploads: j.o.Uploads, Gate: j.o.Gate, Events: j.o.Events}, j.result)
}
