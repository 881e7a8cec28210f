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
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
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

// target returns the table to load: the given one, or the one that is made to replace it. It keeps the name of the given one.
func (d *dirLoad) target(table string) (name loader.TableName, err error) {
	asked := spec.Spec{Table: table, Replace: d.options.Replace, MaxDeletes: d.options.MaxDeletes, ReplaceRejected: d.options.ReplaceRejected}
	if d.spec, err = asked.ResolveTable(); err != nil {
		return name, err
	}
	if d.old, err = loader.ParseTableName(table); err != nil {
		return name, fail.With(fail.Config, err)
	}
	if d.fresh, err = inPlaceOf(d.options.RunOptions, d.spec); err != nil {
		return name, err
	}
	if d.fresh != nil {
		d.spec, d.fresh.Fits = d.fresh.job, d.sameSalt
		return d.fresh.New, nil
	}
	return d.old, nil
}

// replaces reports whether the table is to have only the contents of the directory.
func (d *dirLoad) replaces() bool { return d.spec.Replace || d.fresh != nil }

// checkReplacing refuses a directory that may not be a complete export.
func (d *dirLoad) checkReplacing(ctx context.Context) error {
	switch {
	case !d.replaces():
	case d.options.TrustFiles:
		return fail.With(fail.Config, setting.Errorf("%s reads the files to find the rows to delete: leave %s out", setting.Replace, setting.TrustFiles))
	case d.manifest != nil && d.spec.Replace:
		return refuseOwnRows(d.spec.Table, d.manifest.Tables)
	case d.manifest == nil:
		if _, err := d.out.FS.Stat(ctx, d.at.Path); err != nil {
			return fail.With(fail.Input, fmt.Errorf("directory to be loaded: %w", err))
		}
		return fail.With(fail.Input, setting.Errorf("%s has no %s, so its files may not be a whole export: build or merge them again, or leave %s out",
			d.given, manifest.FileName, setting.Replace))
	}
	return nil
}

// keepsMoved refuses to discard the journal of a load that has moved files of the directory, or may have: there is no other copy of them, and the
// journal is the only list of those that are left.
func (d *dirLoad) keepsMoved() error {
	switch {
	case d.at.Local() || d.job.Finished:
	case d.fresh != nil && d.job.AnyLoading():
		return fail.With(fail.Check, setting.Errorf("files of %s may be in table %s, and would go with it: the same command without %s resumes", d.given, d.fresh.New, setting.Restart))
	case d.job.AnySent():
		return fail.With(fail.Check, setting.Errorf("files of %s were moved into table %s: without %s the same command loads the others; if that is refused, build all files again",
			d.given, d.result.Table, setting.Restart))
	}
	return nil
}

// compared compares the files with the rows that they replace, as a run does. It returns the files to load.
func (d *dirLoad) compared(ctx context.Context, staged hdfsio.Location) (*built, error) {
	if !d.at.Local() { // the directory belongs to the caller
		d.markers = func(ctx context.Context) (*stage, error) {
			st, err := stageAt(ctx, d.env, staged)
			if err == nil {
				st.out.Uploads = upload.NewLimiter(d.options.Uploads)
			}
			return st, err
		}
	}
	files := &built{manifest: &d.all}
	return files, d.replace(ctx, files)
}
