package job

import (
	"context"
	"path"
	"strings"

	"bulkload/internal/base/durable"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/hdfsio"
)

// stage is a job's directory on HDFS and the output that writes to it.
type stage struct {
	*staging.Dir
	out build.Output
}

// stageAt creates the directory, or finds it. HBase moves files out of it, so all
// users can write the files and their directories.
func stageAt(ctx context.Context, env *cluster.Env, l hdfsio.Location) (*stage, error) {
	d, err := staging.Make(ctx, env, l)
	if err != nil {
		return nil, err
	}
	return stageIn(d), nil
}

// stageIn returns the stage of an existing directory.
func stageIn(d *staging.Dir) *stage {
	return &stage{Dir: d, out: build.Output{FS: d.FS, Dir: d.Location.Path, FileMode: 0o666, DirMode: 0o777, Identify: true, Made: true}}
}

// stagedBefore returns the staging directory of the plan, which it creates if necessary.
func (j *run) stagedBefore(ctx context.Context) (*stage, error) {
	dir, err := j.job.Stage(ctx, j.env, j.job.Plan.Staging)
	if err != nil {
		return nil, err
	}
	return stageIn(dir), nil
}

// localStage returns a directory on local disk, which it creates if necessary.
func localStage(dir string) (*stage, error) {
	if err := durable.MakePrivateDir(dir); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	return &stage{Dir: &staging.Dir{FS: hdfsio.Local{}, Location: hdfsio.Location{Path: dir}}, out: build.Output{FS: hdfsio.Local{}, Dir: dir}}, nil
}

// baseOf returns the parent of a job's directory, both as URIs.
func baseOf(uri string) string { return uri[:max(0, strings.LastIndexByte(uri, '/'))] }

// moveStaging moves a job that resumes to the staging directory of this attempt's options, as long as it has no files in the one of its plan, which
// may be the reason why an earlier attempt was refused. It removes the directory of the plan first.
func (j *run) moveStaging(ctx context.Context, old checkpoint.PlanRecord) error {
	if j.local != "" || j.job.Finished || j.job.Built != nil || j.job.Submission != nil || len(j.job.Written) > 0 || j.job.AnyLoading() {
		return nil
	}
	base, err := staging.Base(ctx, j.env, j.options.Staging)
	if err != nil {
		return err
	}
	dir, err := staging.At(j.env, old.Staging)
	if err != nil || base.String() == baseOf(old.Staging) {
		return err
	}
	if err := j.job.Check(ctx); err != nil {
		return err
	}
	if err := dir.Remove(ctx); err != nil {
		return fail.With(fail.HDFS, err)
	}
	old.Staging = base.Join(path.Base(dir.Location.Path)).String()
	j.options.Events.Note("the staging directory is another one than before", "staging", old.Staging)
	return j.job.Record(checkpoint.EventPlan, old)
}
