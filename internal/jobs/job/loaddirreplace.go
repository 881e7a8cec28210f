package job

import (
	"context"
	"fmt"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

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
		d.spec = d.fresh.job
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
