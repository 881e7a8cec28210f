package job

import (
	"context"

	"bulkload/internal/cleanup"
	"bulkload/pkg/build"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/result"
	"bulkload/pkg/staging"
	"bulkload/pkg/upload"
)

// Staged is a job whose HFiles another package has built into a staging
// directory, with that job's own journal, whose plan names the table.
type Staged struct {
	Env      *cluster.Env
	Cluster  *loader.Cluster
	Facts    *cluster.Facts // of the table as it is
	Dir      *staging.Dir
	Manifest *manifest.Manifest // of files whose cells have timestamps of their own
	Journal  *checkpoint.Job
	Proven   bool // every file was read as a whole just now
}

// Load brings the files into the table as [Run] does: each is read as a whole
// before the first is loaded unless it was just now, what is done and what is not known is written into
// the journal, and the same call after a crash continues. Before and after it the
// table must be the one of the plan. What it comes to is put into r. Verify and
// Staging of the options are not looked at.
func (s Staged) Load(ctx context.Context, o LoadOptions, r *result.Result) error {
	j := &run{env: s.Env, c: s.Cluster, st: s.Journal, facts: s.Facts}
	if err := j.recreated(ctx, s.Journal.Plan.Made, s.Facts, fail.Check); err != nil {
		return err
	}
	st := &stage{Dir: s.Dir, out: build.Output{FS: s.Dir.FS, Dir: s.Dir.Location.Path, Uploads: upload.NewLimiter(o.Uploads)}}
	way := loadWay{stage: o.Stage, maxFiles: maxFiles(s.Env, o.MaxFiles), calls: o.LoadConcurrency, gate: o.Gate, shared: true, proven: s.Proven, local: o.Unreplicated}
	if _, err := loadFiles(ctx, s.Cluster, s.Facts, st, &built{manifest: s.Manifest}, way, s.Journal, o.Events, r); err != nil {
		s.Journal.Fail(ctx, err) // before the copy
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		s.Journal.Publish(ctx, s.Dir, o.Events)
		return err
	}
	var families []string
	for _, f := range s.Facts.Families {
		families = append(families, f.Name)
	}
	facts, err := cluster.TableFacts(ctx, s.Env, s.Cluster, s.Facts.Name.String(), families...)
	if err != nil {
		return err
	}
	return j.recreated(ctx, s.Journal.Plan.Made, facts, fail.Verify)
}
