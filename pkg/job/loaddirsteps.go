package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"bulkload/pkg/build"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
	"bulkload/pkg/rewrite"
	"bulkload/pkg/rowkey"
	"bulkload/pkg/setting"
	"bulkload/pkg/staging"
	"bulkload/pkg/upload"
)

// findTable looks at the table.
func (d *dirLoad) findTable(ctx context.Context, table string, families []string) (err error) {
	if d.facts, err = cluster.TableFacts(ctx, d.env, d.c, table, families...); err != nil {
		return err
	}
	d.result.Table = d.facts.Name.String()
	if err := checkMergeDir(ctx, d.out.FS, d.at.Path, d.facts.Table); err != nil {
		return err
	}
	return phoenix(ctx, d.c, d.facts, d.o)
}

// conflicts refuses files that have other values for one cell. Those of a build have no rows between each other's, and are not read.
func (d *dirLoad) conflicts(ctx context.Context) error {
	var files []loader.HFile
	for _, f := range d.all.Files {
		files = append(files, loader.HFile{Family: f.Family, Path: path.Join(d.at.Path, f.Name), First: f.FirstRow, Last: f.LastRow})
	}
	err := rewrite.Conflict(ctx, d.out.FS, files)
	if err != nil && fail.KindOf(err) == fail.Unexpected && ctx.Err() == nil {
		return fail.With(fail.Input, fmt.Errorf("read files that have rows between each other's: %w", err))
	}
	return err
}

// plan is what is to be recorded before anything is done, with the staging directory of local files: that of an earlier attempt
// if there is one.
func (d *dirLoad) plan(ctx context.Context) (p *checkpoint.PlanRecord, staged hdfsio.Location, err error) {
	p = &checkpoint.PlanRecord{Job: d.st.ID, Table: d.facts.Name.String(), Timestamp: d.all.Timestamp, Family: d.facts.Family, Families: d.facts.Families, Columns: []string{}, Splits: []rowkey.Key{},
		Inputs: []checkpoint.InputRecord{{Input: d.given, Place: cluster.Place(d.at), Size: totalBytes(d.files)}}}
	for _, split := range d.facts.Splits {
		p.Splits = append(p.Splits, rowkey.Key(split))
	}
	if d.st.Log != nil {
		if p.Made, err = d.tableRecord(ctx, d.facts); err != nil {
			return nil, staged, err
		}
	}
	switch old := d.st.Plan; {
	case !d.at.Local():
	case old != nil:
		staged, err = d.env.Conf.Resolve(old.Staging)
	default:
		staged, err = staging.Choose(d.env, d.o.Staging, p.Table, time.Now().UnixMilli())
	}
	if d.at.Local() && err == nil {
		p.Staging = staged.String()
	}
	return p, staged, err
}

// begin reports that the attempt begins.
func (d *dirLoad) begin(prove bool, staged hdfsio.Location) {
	begun := progress.Start{Job: d.st.Dir, JobID: d.o.State.JobID, Table: d.result.Table, Attempt: len(d.st.Attempts) + 1, Inputs: []string{d.given},
		Files: len(d.files), Bytes: totalBytes(d.files), Phases: []string{"load"}}
	d.result.Attempt = begun.Attempt
	if d.at.Local() && !d.st.Loading {
		begun.Phases = []string{"upload", "load"}
	}
	if begun.Staging = d.at.String(); d.at.Local() {
		begun.Staging = staged.String()
	}
	if prove {
		begun.Phases = slices.Insert(begun.Phases, 0, "check")
	}
	if d.verifies() {
		begun.Phases, begun.Verify = append(begun.Phases, "verify"), "full"
	}
	d.o.Events.Start(begun)
}

func (d *dirLoad) verifies() bool { return d.manifest != nil && d.o.Verify == "full" }

// resume continues a load that an earlier attempt has begun: the journal says which files there are.
func (d *dirLoad) resume(ctx context.Context, table string) (err error) {
	p := d.st.Plan
	if err := d.findTable(ctx, table, d.families()); err != nil {
		return err
	}
	if err := d.recreated(ctx, p.Made, d.facts, fail.Check); err != nil {
		return err
	}
	d.all = manifest.Manifest{Timestamp: p.Timestamp, Stamped: true}
	if d.manifest != nil {
		d.all = *d.manifest
	}
	if d.at.Local() {
		dir, err := staging.MakeAt(ctx, d.env, p.Staging)
		if err != nil {
			return err
		}
		d.stage = stageIn(dir)
	} else {
		d.stage = &stage{Dir: &staging.Dir{FS: d.out.FS, Location: d.at}, out: d.out}
		if err := d.onlyKnown(ctx); err != nil {
			return err
		}
		// What was not complete when the attempt before ended is written again.
		if err := d.out.FS.RemoveAll(ctx, path.Join(d.cuts(), build.WritingDir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail.With(fail.HDFS, err)
		}
	}
	d.begin(!d.o.TrustFiles, d.stage.Location)
	if _, err := d.st.Begin(d.o.State.Version); err != nil {
		return err
	}
	return d.load(ctx, d.o.TrustFiles)
}

// load brings the files into the table, verifies it, and notes that this is done.
func (d *dirLoad) load(ctx context.Context, proven bool) error {
	r := d.result
	r.Staging, r.Manifest = d.stage.Location.String(), d.manifest
	d.stage.out.Uploads = upload.NewLimiter(d.o.Uploads)
	way := loadWay{stage: d.o.Stage, maxFiles: maxFiles(d.env, d.o.MaxFiles), calls: d.o.LoadConcurrency, gate: d.o.Gate, shared: true, proven: proven, local: d.o.Unreplicated}
	if !d.at.Local() {
		way.cuts = d.cuts()
	}
	rows, err := loadFiles(ctx, d.c, d.facts, d.stage, &built{manifest: &d.all}, way, d.st, d.o.Events, r)
	if err != nil {
		return err
	}
	if d.verifies() {
		rows.manifest = d.manifest
		seen, err := rows.verify(ctx, d.c, d.o.Verify, d.o.Events, r)
		if err != nil {
			return err
		}
		if err := d.st.Record(checkpoint.EventVerified, seen.verification); err != nil {
			return err
		}
	}
	if err := d.sameTable(ctx); err != nil {
		return err
	}
	return d.end(ctx)
}

// sameTable looks at the table once more when all files are in it.
func (d *dirLoad) sameTable(ctx context.Context) error {
	if d.st.Plan.Made == nil {
		return nil
	}
	facts, err := cluster.TableFacts(ctx, d.env, d.c, d.result.Table, d.families()...)
	if err != nil {
		return err
	}
	return d.recreated(ctx, d.st.Plan.Made, facts, fail.Verify)
}

// end notes that nothing is left to do, and removes what is not needed any more.
func (d *dirLoad) end(ctx context.Context) error {
	if !d.at.Local() {
		if err := d.removeCuts(ctx); err != nil {
			d.o.Events.Warn("files that were cut or merged are left behind", "path", d.cuts(), "error", err)
		}
	}
	var staged *staging.Dir // that of local files; else the caller's own
	if d.at.Local() {
		staged = d.stage.Dir
	}
	return d.st.End(ctx, d.result, staged, false, d.o.Events)
}

// already is the answer to a load that was done before.
func (d *dirLoad) already(ctx context.Context, table string) error {
	r := d.result
	d.st.Answer(ctx, d.env, r, d.o.Events)
	d.o.Events.Start(progress.Start{Job: d.st.Dir, JobID: d.o.State.JobID, Table: table, Inputs: []string{d.given}})
	var err error
	if d.facts, err = cluster.TableFacts(ctx, d.env, d.c, table, d.families()...); err != nil {
		return err
	}
	if err = d.recreated(ctx, d.st.Plan.Made, d.facts, fail.Verify); err == nil && d.verifies() {
		r.Manifest = d.manifest
		_, err = (&loaded{manifest: d.manifest, facts: d.facts}).verify(ctx, d.c, d.o.Verify, d.o.Events, r)
	}
	if err != nil && fail.KindOf(err) == fail.Verify {
		return fail.With(fail.Verify, setting.Errorf("this load was done at %s, but: %w (%s loads it again)", d.st.FinishedAt.Format(time.RFC3339), err, setting.Restart))
	}
	return err
}
