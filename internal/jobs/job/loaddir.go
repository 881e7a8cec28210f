package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/base/abilities"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// dirLoad is the work of one process on the load of a directory.
type dirLoad struct {
	run      // parts shared with a run: cluster, journal, facts, result
	options  LoadOptions
	given    string           // the directory as the caller gave it
	old      loader.TableName // the table as the caller gave it: the loaded table, or the one that it replaces
	at       hdfsio.Location
	out      build.Output       // of the directory
	manifest *manifest.Manifest // of the directory; nil: none
	files    []manifest.File    // files in the directory
	all      manifest.Manifest  // files to load
}

// LoadDir loads a directory of HFiles, DIR/family/file, written by a build or by
// another program. Files on the cluster's HDFS are moved into the table; local ones
// are uploaded first and kept. If there is a manifest, the table is verified
// against it. Every file is read completely before the first is loaded. With a
// state directory the same call resumes after a crash. After a success it does
// nothing unless there are new files in the directory. With Replace it also takes
// the steps of a replacing run.
func LoadDir(ctx context.Context, env *cluster.Env, table, dir string, o LoadOptions) (r *result.Result, err error) {
	d := &dirLoad{run: run{env: env, options: o.RunOptions, started: time.Now()}, options: o, given: dir}
	name, err := d.target(table)
	if err != nil {
		return nil, err
	}
	d.result = &result.Result{Schema: 1, Table: name.String()}
	if err := abilities.Verifies(abilities.Load, cmp.Or(o.Verify, "off"), "full", "off"); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	d.moves = !d.at.Local()
	if err := o.State.MakeDir(); err != nil {
		return nil, err
	}
	if d.cluster, err = env.Dial(ctx); err != nil {
		return nil, err
	}
	defer d.cluster.Close()
	id, err := d.identity(ctx, name)
	if err == nil {
		id, err = id.OnCluster(ctx, d.cluster)
	}
	if err != nil {
		return nil, err
	}
	if d.job, err = checkpoint.Open(ctx, d.cluster, id, o.State, o.Events); err != nil {
		return nil, err
	}
	ctx, end := d.job.Work(ctx)
	defer func() { end(&err, r) }()
	defer func() { d.job.GiveBackTables(ctx, d.cluster, o.Events) }()
	d.result.Job = d.job.Dir
	if !d.job.Finished || o.State.Restart {
		if err := progress.Pass(ctx, o.Gate); err != nil {
			return nil, err
		}
	}
	if o.discard && d.job.Finished {
		return nil, nil
	}
	if err := d.startOver(ctx); err != nil || o.discard {
		return nil, err
	}
	if d.job.Finished {
		return d.result, d.earlierResult(ctx, d.result.Table)
	}
	if err := d.job.Steps(ctx, o.Gate, d.steps(d.result.Table)); err != nil {
		return d.result, err
	}
	d.result.Elapsed = time.Since(d.started)
	return d.result, nil
}

// open opens the directory, and reads its manifest and the list of local files.
func (d *dirLoad) open(ctx context.Context) (err error) {
	if d.at, err = d.env.Conf.Resolve(d.given); err != nil {
		return fail.With(fail.Config, err)
	}
	d.out.Dir = d.at.Path
	if d.out.FS, err = d.env.FS(d.at); err != nil {
		return err
	}
	d.stage = &stage{Dir: &staging.Dir{FS: d.out.FS, Location: d.at}, out: d.out}
	read := manifest.Read
	if d.options.TrustFiles {
		read = manifest.ReadUnchecked
	}
	if d.manifest, err = read(ctx, d.out.FS, d.at.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail.With(fail.Input, err)
	}
	if err := d.checkReplacing(ctx); err != nil || !d.at.Local() {
		return err
	}
	return d.list(ctx)
}

// list lists the files, which must match the manifest.
func (d *dirLoad) list(ctx context.Context) (err error) {
	if d.replaces() && d.manifest.Digest.Rows == 0 {
		return nil // refuseExport reports this
	}
	if d.files, err = ListHFiles(ctx, d.out.FS, d.at.Path); err != nil || d.manifest == nil {
		return cluster.Absent(d.at, err)
	}
	if err := sameFiles(d.manifest, d.files); err != nil {
		return fail.With(fail.Input, fmt.Errorf("%s: %w", d.given, err))
	}
	return nil
}

// identity distinguishes the load from loads of other directories, and of earlier contents of the directory: by its manifest, or by its files if they
// are kept, or by the directory itself.
func (d *dirLoad) identity(ctx context.Context, table loader.TableName) (checkpoint.Identity, error) {
	parts := []string{"load", d.options.State.JobID, cluster.Place(d.at)}
	switch {
	case d.manifest != nil:
		b, err := manifest.Seal(d.manifest)
		if err != nil {
			return checkpoint.Identity{}, err
		}
		parts = append(parts, string(b))
	case d.at.Local():
		for _, f := range d.files {
			info, err := d.out.FS.Stat(ctx, filepath.Join(d.at.Path, f.Name))
			if err != nil {
				return checkpoint.Identity{}, fail.With(fail.Input, err)
			}
			parts = append(parts, f.Name, fmt.Sprint(f.Bytes, info.ModTime().UnixNano()))
		}
	default:
		info, err := d.out.FS.Stat(ctx, d.at.Path)
		if err != nil {
			return checkpoint.Identity{}, fail.With(fail.Input, cluster.Absent(d.at, err))
		}
		inode, _ := hdfsio.FileID(info)
		parts = append(parts, fmt.Sprint(inode))
	}
	id := checkpoint.IdentifyParts(table, parts...)
	if d.fresh != nil {
		id = id.InPlaceOf(d.fresh.Old)
	}
	return id, nil
}

// startOver discards an earlier load of the directory with Restart, and also if it was done and there are files again. It refuses a load that was undone,
// or is being undone.
func (d *dirLoad) startOver(ctx context.Context) error {
	restart := d.options.State.Restart
	if !restart && d.job.Finished && !d.at.Local() {
		var err error
		if restart, err = d.holdsFiles(ctx); err != nil {
			return err
		}
	}
	advice := byRestart("")
	if u := d.job.Undo; u != nil && u.From == nil {
		advice = buildAgain()
	}
	if err := undone(d.job.Dir, &d.job.History, restart, advice); err != nil {
		return err
	}
	if err := snapshotFree(ctx, d.cluster, d.job, d.options.Snapshot, restart); err != nil || !restart {
		return err
	}
	if err := d.keepsMoved(); err != nil {
		return err
	}
	return d.job.Restart(ctx, d.env, d.fresh.restarting(d.env, d.cluster, d.job, d.run.options), d.restartable, d.removeCuts)
}

// families returns the families of the plan.
func (d *dirLoad) families() []string { return spec.FamilyNames(d.job.Plan.Families) }

// familiesOf returns the families of files.
func familiesOf(files []manifest.File) (families []string) {
	for _, f := range files {
		if !slices.Contains(families, f.Family) {
			families = append(families, f.Family)
		}
	}
	return families
}
