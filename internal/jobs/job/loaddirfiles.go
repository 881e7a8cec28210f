package job

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"regexp"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"
)

// sameSalt refuses files whose keys have salts of another modulus than the table's readers use: that for which the table is split, unless the job of the
// build states one.
func (d *dirLoad) sameSalt(splits [][]byte) error {
	if d.options.salted || d.manifest == nil || d.manifest.SaltBuckets > 0 {
		return nil
	}
	key, err := keygen.Parse(d.manifest.Key)
	if err != nil {
		return nil // of a later version, or of rows that keep their keys
	}
	salt := keygen.OpenSalt(key)
	if salt == "" {
		return nil
	}
	n := partition.ModulusOfSalt(salt, splits)
	if n == d.manifest.Modulus {
		return nil
	}
	split := fmt.Sprintf("is split for %d", n)
	if n == 0 {
		split = "is not split by " + salt
	}
	return fail.With(fail.Check, setting.Errorf("the keys in %s have %s, and table %s %s: build again, with the number that its readers use as %s",
		d.given, setting.Count(d.manifest.Modulus, "salt"), d.result.Table, split, setting.SaltBuckets))
}

// cuts returns the directory for cut or merged files, separate from the caller's own files.
func (d *dirLoad) cuts() string {
	return path.Join(d.at.Path, history.CutsName(d.job.ID))
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
	for name, err := range d.eachFile(ctx) {
		if err == nil && !known[fenced.ReplaceAllString(name, "")] {
			err = fail.Errorf(fail.Input, "%s was added to the directory after its load began: move it away, and load it afterwards", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holdsFiles reports whether a family's directory has any file.
func (d *dirLoad) holdsFiles(ctx context.Context) (bool, error) {
	for _, err := range d.eachFile(ctx) {
		return err == nil, err
	}
	return false, nil
}

// eachFile iterates over the files in families' directories, by their paths. An error is the last element.
func (d *dirLoad) eachFile(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := d.out.FS.ReadDir(ctx, d.at.Path)
		if err != nil {
			yield("", fail.With(fail.Input, err))
			return
		}
		for _, e := range entries {
			if !e.IsDir() || e.Name() == path.Base(d.cuts()) {
				continue
			}
			var files []fs.FileInfo
			passed, err := passedOver(d.at.Path, e, entries)
			if err == nil && !passed {
				files, err = familyFiles(ctx, d.out.FS, path.Join(d.at.Path, e.Name()))
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, f := range files {
				if !yield(path.Join(d.at.Path, e.Name(), f.Name()), nil) {
					return
				}
			}
		}
	}
}
