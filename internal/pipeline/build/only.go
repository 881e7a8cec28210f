package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// Files provides the file systems of a build's inputs and outputs.
type Files interface {
	// Source returns the file system of an input and its absolute name there.
	Source(name string) (source.FS, string, error)
	// Resolve returns the file system of an output and its absolute name there.
	Resolve(name string) (hdfsio.FS, string, error)
}

// Directory builds HFiles into a directory that is missing or empty.
func Directory(ctx context.Context, files Files, s spec.Job, family spec.Family, splits [][]byte, dir string, w WorkOptions) (*manifest.Manifest, error) {
	m, err := Directories(ctx, files, s, []Shape{{Families: []spec.Family{family}, Splits: splits}}, dir, w)
	if err != nil {
		return nil, err
	}
	return m[0], nil
}

// A Shape holds the properties of a table that its files depend on.
type Shape struct {
	Families []spec.Family // settings; a family without any gets the first one's
	Splits   [][]byte
	Near     cells.Near
}

// Directories is [Directory] for all tables of a job, with one shape for each of its targets. If there are several, each has
// its files in a subdirectory of its own, see [spec.Target].
func Directories(ctx context.Context, files Files, s spec.Job, shapes []Shape, dir string, w WorkOptions) (m []*manifest.Manifest, err error) {
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
		return nil, fail.Listing(err)
	}
	k, err := OpenInput(ctx, files.Source, s, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	if err := progress.Pass(ctx, w.Gate); err != nil {
		return nil, err
	}
	plans, err := NewPlans(s, k.Source.Columns(), shapes, time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	tables := out.Tables(s, plans)
	start := k.startOf(plans[0], s)
	start.Staging, start.Splits = dir, shapes[0].Splits
	w.Events.Start(start)
	for _, p := range plans {
		p.Tables = k.tables(s)
		p.WarnKey(w.Events)
	}
	if m, err = k.BuildTables(ctx, tables, w, 0, nil); err != nil {
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		for _, t := range tables {
			for _, family := range t.Plan.FamilyNames() {
				_ = fsys.Remove(ctx, path.Join(t.Out.Dir, family)) // empty now: the same command can be repeated
			}
			if t.Out.Dir != name {
				_ = fsys.Remove(ctx, t.Out.Dir)
			}
		}
		err = lostTo(ctx, fsys, name, dir, err)
	}
	return m, err
}

// lostTo replaces the error of a build that found its files removed, or others in their places, if the directory has files after it has removed its
// own: another build ended there first. The same command would be refused.
func lostTo(ctx context.Context, fsys hdfsio.FS, name, dir string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) || fail.KindOf(err) != fail.HDFS {
		return err
	}
	if entries, e := fsys.ReadDir(ctx, name); e != nil || len(entries) == 0 {
		return err
	}
	return fail.Errorf(fail.Config, "%s: another process has built there meanwhile: name a directory that is missing or empty", dir)
}

// KnowsSalts refuses the shapes of no table that do not show by which modulus a target's keys get their salts, see [spec.Job.GivenModulus].
func KnowsSalts(s spec.Job, shapes []Shape) error {
	for i, t := range s.Targets()[:len(shapes)] {
		_, err := t.GivenModulus(shapes[i].Splits)
		if err != nil && s.Several() {
			err = fmt.Errorf("table %s: %w", t.Table, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// NewPlans returns the plans of all targets of a job, in their order, from the shape of each. They have the same timestamp.
func NewPlans(s spec.Job, columns []string, shapes []Shape, now int64) ([]*cells.Plan, error) {
	targets := s.Targets()
	if len(shapes) != len(targets) {
		return nil, fail.Errorf(fail.Unexpected, "the plan has shapes of %s, but the job has %d", setting.Count(len(shapes), "table"), len(targets))
	}
	plans := make([]*cells.Plan, len(targets))
	for i, t := range targets {
		var err error
		if plans[i], err = cells.NewPlan(t.Job, columns, shapes[i].Families[0], shapes[i].Splits, now, shapes[i].Families[1:]...); err != nil {
			if len(targets) > 1 {
				err = fmt.Errorf("table %s: %w", t.Table, err)
			}
			return nil, err
		}
		plans[i].Near = shapes[i].Near
	}
	return plans, nil
}

// Tables combines the plans of a job's targets with their directories below the output's.
func (o Output) Tables(s spec.Job, plans []*cells.Plan) []Table {
	tables := make([]Table, len(plans))
	for i, t := range s.Targets() {
		tables[i] = Table{plans[i], o}
		tables[i].Out.Dir = path.Join(o.Dir, t.Dir)
	}
	return tables
}
