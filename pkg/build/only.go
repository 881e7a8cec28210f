package build

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"time"

	"bulkload/internal/cleanup"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
	"bulkload/pkg/source"
	"bulkload/pkg/spec"
	"bulkload/pkg/upload"
)

// Files finds the file systems of inputs and outputs: a job's world, as far as a
// build sees it.
type Files interface {
	// Source is the file system of an input, and its absolute name there.
	Source(name string) (source.FS, string, error)
	// Resolve is the same for an output.
	Resolve(name string) (hdfsio.FS, string, error)
}

// Directory builds HFiles into a directory that is missing or empty.
func Directory(ctx context.Context, files Files, s spec.Job, family spec.Family, splits [][]byte, dir string, w WorkOptions) (m *manifest.Manifest, err error) {
	fsys, name, err := files.Resolve(dir)
	if err != nil {
		return nil, err
	}
	out := Output{FS: fsys, Dir: name}
	if _, local := fsys.(hdfsio.Local); !local {
		out.Uploads = upload.NewLimiter(w.Uploads)
	}
	switch entries, err := fsys.ReadDir(ctx, name); {
	case err == nil && len(entries) > 0:
		return nil, fail.Errorf(fail.Config, "%s is not empty: name a directory that is missing or empty", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fail.With(fail.HDFS, err)
	}
	k, err := OpenInput(ctx, files.Source, s, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	if err := progress.Pass(ctx, w.Gate); err != nil {
		return nil, err
	}
	plan, err := NewPlan(s, k.Source.Columns(), family, splits, time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	start := k.startOf(plan, s)
	start.Staging, start.Splits = dir, splits
	w.Events.Start(start)
	plan.WarnKey(w.Events)
	if m, err = k.Build(ctx, plan, out, w, 0, nil); err != nil {
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		for _, family := range s.Families() {
			_ = fsys.Remove(ctx, path.Join(name, family)) // empty now: so the same command can be given again
		}
	}
	return m, err
}
