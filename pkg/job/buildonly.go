package job

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"bulkload/internal/cleanup"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
	"bulkload/pkg/source"
	"bulkload/pkg/spec"
	"bulkload/pkg/upload"
)

// RejectsName is the name of the file of bad records in a job's state directory.
const RejectsName = "rejects.jsonl"

// keepRejects puts the bad records of a job that names no file for them into its state directory. What a killed attempt
// has left there unfinished goes: the job's lock is held.
func (o *RunOptions) keepRejects(dir string) error {
	if o.RejectFile != "" || dir == "" {
		return nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	o.RejectFile = filepath.Join(abs, RejectsName)
	return fail.With(fail.Config, source.NewRejectFile(o.RejectFile).RemoveTemp())
}

// BuildOnly builds HFiles into a directory that is missing or empty.
func BuildOnly(ctx context.Context, env *cluster.Env, s spec.Spec, family spec.Family, splits [][]byte, dir string, w WorkOptions) (*manifest.Manifest, error) {
	l, err := env.Conf.Resolve(dir)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	fsys, err := env.FS(l)
	if err != nil {
		return nil, err
	}
	out := Output{FS: fsys, Dir: l.Path}
	if !l.Local() {
		out.uploads = upload.NewLimiter(w.Uploads)
	}
	switch entries, err := fsys.ReadDir(ctx, l.Path); {
	case err == nil && len(entries) > 0:
		return nil, fail.Errorf(fail.Config, "%s is not empty: name a directory that is missing or empty", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fail.With(fail.HDFS, err)
	}
	k, err := openInput(ctx, env.Source, s, w)
	if err != nil {
		return nil, err
	}
	if err := progress.Pass(ctx, w.Gate); err != nil {
		return nil, err
	}
	plan, err := NewPlan(s, k.in.Columns(), family, splits, time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	start := k.start(plan, s)
	start.Staging, start.Splits = dir, splits
	w.Events.Start(start)
	plan.warnKey(w.Events)
	m, err := k.build(ctx, plan, out, w, 0, nil)
	if err != nil {
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		for _, name := range s.Families() {
			_ = fsys.Remove(ctx, path.Join(l.Path, name)) // empty now: so the same command can be given again
		}
	}
	return m, err
}
