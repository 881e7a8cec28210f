package job

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// findTable reads the facts of the table, and checks that it can be loaded.
func (d *dirLoad) findTable(ctx context.Context, table string, families []string) (err error) {
	if d.facts, err = cluster.TableFacts(ctx, d.env, d.cluster, table, families...); err != nil {
		return err
	}
	d.result.Table = d.facts.Name.String()
	if err := checkMergeDir(ctx, d.out.FS, d.at.Path, d.facts.Table); err != nil {
		return err
	}
	return CheckPhoenix(ctx, d.cluster, d.facts, d.options.PhoenixIndexes, d.options.Events)
}

// conflicts refuses files that have different values for the same cell. Files of a build do not overlap, and are not read.
func (d *dirLoad) conflicts(ctx context.Context) error {
	var files []loader.HFile
	for _, f := range d.all.Files {
		files = append(files, loader.HFile{Family: f.Family, Path: path.Join(d.at.Path, f.Name), First: f.FirstRow, Last: f.LastRow})
	}
	err := rewrite.Conflict(ctx, d.out.FS, files)
	if err != nil && fail.KindOf(err) == fail.Unexpected && ctx.Err() == nil {
		return fail.With(fail.Input, fmt.Errorf("read files with overlapping rows: %w", err))
	}
	return err
}

// steps returns the steps of a load. If the load of files has begun, the steps before it are skipped.
func (d *dirLoad) steps(table string) []checkpoint.Step {
	var p *history.PlanRecord
	var staged hdfsio.Location
	var files *built
	var rows *loaded
	loading, local := d.job.Loading, d.at.Local()
	begun := func() bool { return loading }
	d.proven = !loading || d.options.TrustFiles
	return []checkpoint.Step{
		{Name: "make the table", Done: func() bool { return d.fresh == nil }, Run: func(ctx context.Context) error { return d.fresh.make(ctx, d.env, d.cluster, d.job) }},
		{Name: "find the table again", Done: func() bool { return !loading }, Run: func(ctx context.Context) error { return d.resume(ctx, table) }},
		{Name: "find the files and the table", Done: begun, Run: func(ctx context.Context) (err error) { p, staged, err = d.find(ctx, table); return err }},
		{Name: "check the files", Done: begun, Run: func(ctx context.Context) error { return d.prove(ctx, staged) }},
		{Name: "record the plan", Done: begun, Run: func(context.Context) error { return d.job.Record(history.EventPlan, *p) }},
		d.job.BeginStep(d.options.State.Version, nil),
		{Name: "keep the table quiet", Run: d.keepQuiet},
		{Name: "check that the table can be verified", Done: func() bool { return loading || !local }, Run: d.replaceable},
		{Name: "upload local files", Done: func() bool { return loading || !local }, Run: func(ctx context.Context) error { return d.upload(ctx, staged) }},
		{Name: "take the snapshot", Run: d.snapshot},
		{Name: "compare with what is replaced", Run: func(ctx context.Context) (err error) { files, err = d.compared(ctx, staged); return err }},
		{Name: "load the files", Run: func(ctx context.Context) (err error) { rows, err = d.load(ctx, files); return err }},
		{Name: "verify the table", Done: func() bool { return !d.verifies() && d.job.History.Replace == nil }, Run: func(ctx context.Context) error { return d.verifyRows(ctx, rows) }},
		{Name: "check the table again", Run: d.sameTable},
		{Name: "ask for compactions", Run: func(ctx context.Context) error { return d.compactLoaded(ctx, d.facts) }},
		{Name: "give the table back", Run: d.giveBack},
		{Name: "delete older snapshots", Run: d.dropOlder},
		{Name: "end the job", Run: d.end},
	}
}

// find finds the files and the table, plans the load, and chooses the staging directory of local files.
func (d *dirLoad) find(ctx context.Context, table string) (*history.PlanRecord, hdfsio.Location, error) {
	if d.replaces() {
		if err := d.refuseExport(d.manifest, d.old); err != nil {
			return nil, hdfsio.Location{}, err
		}
	}
	if !d.at.Local() {
		if err := preflight.OnHBase(ctx, d.env.Conf, d.at); err != nil {
			return nil, hdfsio.Location{}, err
		}
		if err := d.list(ctx); err != nil {
			return nil, hdfsio.Location{}, err
		}
	}
	name, err := loader.ParseTableName(table)
	if err != nil {
		return nil, hdfsio.Location{}, fail.With(fail.Config, err)
	}
	if err := CheckQuota(ctx, d.cluster, name); err != nil {
		return nil, hdfsio.Location{}, err
	}
	if err := d.findTable(ctx, table, familiesOf(d.files)); err != nil {
		return nil, hdfsio.Location{}, err
	}
	if err := d.sameSalt(d.facts.Splits); err != nil {
		return nil, hdfsio.Location{}, err
	}
	if d.verifies() || d.replaces() {
		if err := d.cluster.MayRead(ctx, d.facts.Name, familiesOf(d.files)...); err != nil {
			return nil, hdfsio.Location{}, cluster.Failure(err)
		}
	}
	d.all = manifest.Manifest{Timestamp: time.Now().UnixMilli(), Files: d.files, Stamped: true} // the writer of the files has set the timestamps
	if d.manifest != nil {
		d.all = *d.manifest
		d.all.Files = slices.Clone(d.manifest.Files)
	}
	if err := expired(d.facts, &d.all, fail.Check); err != nil { // before files are uploaded
		return nil, hdfsio.Location{}, err
	}
	return d.plan(ctx)
}

// prove reads all files completely, except those that are checked while they are copied.
func (d *dirLoad) prove(ctx context.Context, staged hdfsio.Location) error {
	prove := !d.options.TrustFiles && (!d.at.Local() || slices.ContainsFunc(d.all.Files, func(f manifest.File) bool { return f.CRC32C == 0 }))
	d.begin(prove, staged)
	if prove {
		if err := proveDir(ctx, d.out, d.all.Files, d.at.Local(), d.options); err != nil {
			return err
		}
	}
	if d.options.TrustFiles {
		return nil
	}
	return d.conflicts(ctx)
}

// upload copies local files into the staging directory.
func (d *dirLoad) upload(ctx context.Context, staged hdfsio.Location) (err error) {
	d.options.Events.Phase("upload")
	d.options.Events.Total("upload", progress.Amount{Bytes: totalBytes(d.files)})
	d.stage, err = copying(ctx, d.env, d.job.Check, staged, d.out, d.all.Files, d.facts, d.options)
	return err
}

// plan returns the record of the plan, with the staging directory for local files or delete markers, which is the one of an earlier attempt if there
// is one.
func (d *dirLoad) plan(ctx context.Context) (p *history.PlanRecord, staged hdfsio.Location, err error) {
	p = &history.PlanRecord{Job: d.job.ID, Table: d.facts.Name.String(), Replicate: "yes", Timestamp: d.all.Timestamp, Family: d.facts.Family, Families: d.facts.Families, Columns: []string{}, Splits: append([]rowkey.Key{}, rowkey.Keys(d.facts.Splits)...),
		Inputs: []history.InputRecord{{Input: d.given, Place: cluster.Place(d.at), Size: totalBytes(d.files)}}}
	if d.options.Unreplicated {
		p.Replicate = "no"
	}
	if d.job.Log != nil {
		if p.Made, err = d.tableRecord(ctx, d.facts); err != nil {
			return nil, staged, err
		}
		if !d.all.Stamped {
			if err := freshTimestamp(ctx, d.cluster, p, d.options.State.Dir, buildAgain(), d.options.Events); err != nil {
				return nil, staged, err
			}
		}
	}
	switch old := d.job.Plan; {
	case old != nil && old.Staging != "":
		staged, err = d.env.Conf.Resolve(old.Staging)
	case d.at.Local() || d.spec.Replace:
		staged, err = staging.Choose(ctx, d.env, d.options.Staging, p.Table, time.Now().UnixMilli())
	default:
		return p, staged, nil
	}
	p.Staging = staged.String()
	return p, staged, err
}

// start returns the job, and the files that its load began with, even if an earlier attempt has moved them, or cut or merged them.
func (d *dirLoad) start(table string) progress.Start {
	s := progress.Start{Job: d.job.Dir, JobID: d.options.State.JobID, Table: table, Inputs: []string{d.given}, Files: len(d.files), Bytes: totalBytes(d.files)}
	if s.Files > 0 || d.job.Plan == nil {
		return s
	}
	for _, file := range slices.AppendSeq(slices.Clone(d.job.Replaced), maps.Keys(d.job.Leaves)) {
		if path.Dir(path.Dir(pathOf(file))) == d.at.Path {
			s.Files++
		}
	}
	for _, in := range d.job.Plan.Inputs {
		s.Bytes += in.Size
	}
	return s
}

// begin reports the begin of the attempt.
func (d *dirLoad) begin(prove bool, staged hdfsio.Location) {
	begun := d.start(d.result.Table)
	begun.Attempt, begun.Phases = len(d.job.Attempts)+1, []string{"load"}
	d.result.Attempt = begun.Attempt
	if d.compares() && !d.job.Loading {
		begun.Phases = []string{"replace", "load"}
	}
	if d.at.Local() && !d.job.Loading {
		begun.Phases = slices.Insert(begun.Phases, 0, "upload")
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
	d.options.Events.Start(begun)
}

func (d *dirLoad) verifies() bool { return d.manifest != nil && d.options.Verify == "full" }

// resume resumes a load that an earlier attempt has begun, with the files that the journal lists.
func (d *dirLoad) resume(ctx context.Context, table string) (err error) {
	p := d.job.Plan
	if err := otherReplication(p.Replicate, d.options.Unreplicated); err != nil {
		return err
	}
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
		if d.stage, err = d.stagedBefore(ctx); err != nil {
			return err
		}
	} else {
		if err := d.onlyKnown(ctx); err != nil {
			return err
		}
		// Files that were incomplete when the previous attempt ended are written again.
		if err := d.out.FS.RemoveAll(ctx, path.Join(d.cuts(), build.WritingDir)); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	d.begin(!d.options.TrustFiles, d.stage.Location)
	return nil
}

// load loads the files into the table.
func (d *dirLoad) load(ctx context.Context, files *built) (*loaded, error) {
	r := d.result
	r.Staging, r.Manifest = d.stage.Location.String(), d.manifest
	d.stage.out.Uploads = upload.NewLimiter(d.options.Uploads)
	way := loadWay{shared: true, local: d.options.Unreplicated, made: d.job.Plan.Made}
	if !d.at.Local() {
		way.cuts = d.cuts()
	}
	return d.loadFiles(ctx, d.facts, d.stage, files, way, r)
}

// verifyRows compares the table with the manifest of the directory.
func (d *dirLoad) verifyRows(ctx context.Context, rows *loaded) error {
	rows.manifest = d.manifest
	if err := d.verify(ctx, rows, d.options.Verify, d.result); err != nil {
		return err
	}
	return d.recordVerified(ctx, d.manifest, d.result)
}

// sameTable checks again, after all files are loaded, that the table is the recorded one.
func (d *dirLoad) sameTable(ctx context.Context) error {
	if d.job.Plan.Made == nil {
		return nil
	}
	return d.checkUnchanged(ctx, d.job.Plan.Made, d.result.Table, d.families(), &d.all, fail.Verify)
}

// end records that the job is done, and removes temporary files.
func (d *dirLoad) end(ctx context.Context) error {
	if !d.at.Local() {
		if err := d.removeCuts(ctx); err != nil {
			d.options.Events.Warn("files that were cut or merged are left behind", "path", d.cuts(), "error", err)
		}
	}
	d.job.EndPrepared(ctx, d.env, d.cluster, d.options.Events)
	d.result.Elapsed = time.Since(d.started)
	err := d.job.End(ctx, d.result, nil, false, d.options.Events)
	if err == nil {
		d.job.EndStaging(ctx, d.env, d.options.Events) // of local files, and of delete markers
	}
	return err
}

// earlierResult returns the result of a load that was done before.
func (d *dirLoad) earlierResult(ctx context.Context, table string) error {
	r := d.result
	d.job.Answer(ctx, d.env, r, d.options.Events)
	if err := d.doneReplacing(); err != nil {
		return err
	}
	d.options.Events.Start(d.start(table))
	var err error
	if d.facts, err = cluster.TableFacts(ctx, d.env, d.cluster, table, d.families()...); err != nil {
		return err
	}
	if err = d.recreated(ctx, d.job.Plan.Made, d.facts, fail.Verify); err == nil && d.verifies() {
		r.Manifest = d.manifest
		err = d.verify(ctx, &loaded{manifest: d.manifest, facts: d.facts}, d.options.Verify, r)
	}
	if err != nil && fail.KindOf(err) == fail.Verify {
		return fail.With(fail.Verify, setting.Errorf("this load was done at %s, but: %w (%s loads it again)", d.job.FinishedAt.Format(time.RFC3339), err, setting.Restart))
	}
	return err
}
