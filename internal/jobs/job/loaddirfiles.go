package job

import (
	"context"
	"errors"
	"path"
	"regexp"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
)

// cuts returns the directory for cut or merged files, separate from the caller's own files.
func (d *dirLoad) cuts() string {
	return path.Join(d.at.Path, build.LoadingPrefix+d.job.Digits())
}

// removeCuts removes cut or merged files: the table, or the files that are kept, have their rows.
func (d *dirLoad) removeCuts(ctx context.Context) error {
	if d.at.Local() {
		return nil
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return fail.With(fail.HDFS, d.out.FS.RemoveAll(ctx, d.cuts()))
}

// fenced matches the suffix that is added to a file's name when a load resolves a lost answer.
var fenced = regexp.MustCompile(`\.r[0-9]+$`)

// onlyKnown refuses files that were added to the directory after its load began: it would be unknown which of them are loaded.
func (d *dirLoad) onlyKnown(ctx context.Context) error {
	known := map[string]bool{}
	for _, f := range d.job.Replaced {
		known[fenced.ReplaceAllString(pathOf(f), "")] = true
	}
	for f := range d.job.Files {
		known[fenced.ReplaceAllString(pathOf(f), "")] = true
	}
	return d.eachFile(ctx, func(name string) error {
		if known[fenced.ReplaceAllString(name, "")] {
			return nil
		}
		return fail.Errorf(fail.Input, "%s was added to the directory after its load began: move it away, and load it afterwards", name)
	})
}

// errSome stops a search.
var errSome = errors.New("there is a file")

// holdsFiles reports whether a family's directory has any file.
func (d *dirLoad) holdsFiles(ctx context.Context) (bool, error) {
	err := d.eachFile(ctx, func(string) error { return errSome })
	if errors.Is(err, errSome) {
		return true, nil
	}
	return false, err
}

// eachFile calls do for each file in a family's directory.
func (d *dirLoad) eachFile(ctx context.Context, do func(name string) error) error {
	entries, err := d.out.FS.ReadDir(ctx, d.at.Path)
	if err != nil {
		return fail.With(fail.Input, err)
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == path.Base(d.cuts()) {
			continue
		}
		if passed, err := passedOver(d.at.Path, e, entries); err != nil || passed {
			if err != nil {
				return err
			}
			continue
		}
		files, err := familyFiles(ctx, d.out.FS, path.Join(d.at.Path, e.Name()))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := do(path.Join(d.at.Path, e.Name(), f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
