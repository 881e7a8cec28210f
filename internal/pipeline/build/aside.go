package build

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// FileOf returns the name of a records file for one of several tables or directories: their name is inserted before the file's extension.
func FileOf(file, name string) string {
	const longest = 120 // file names have a length limit
	ext, label := filepath.Ext(file), strings.ReplaceAll(strings.Trim(name, "/"), "/", "_")
	return strings.TrimSuffix(file, ext) + "." + label[max(0, len(label)-longest):] + ext
}

// leaveOut prepares the files for records that are left out. They are created on disk with the first record.
func (k *Input) leaveOut(s spec.Job, w WorkOptions) error {
	if w.FilteredFile != "" {
		k.Filtered = source.NewFilteredFile(w.FilteredFile)
	}
	if w.DuplicatesFile == "" {
		return nil
	}
	for i, t := range s.Targets() {
		k.Duplicates = append(k.Duplicates, source.NewDuplicatesFile(w.duplicatesOf(i, t.Table)))
	}
	return CheckDuplicatesFile(s)
}

// duplicatesOf returns the name of the file of a table's duplicates.
func (w WorkOptions) duplicatesOf(i int, table string) string {
	if i == 0 {
		return w.DuplicatesFile
	}
	return FileOf(w.DuplicatesFile, strings.ReplaceAll(table, ":", "_"))
}

// SameFiles refuses a file for records that were left out of a build, as its manifests have them, which are in another file or in none: it would not be
// written.
func (w WorkOptions) SameFiles(s spec.Job, all []*manifest.Manifest) error {
	same := func(name setting.Name, records int64, was, now string) error {
		if records == 0 || now == "" || now == was {
			return nil
		}
		return fail.With(fail.Check, setting.Errorf("%s %s: the files are built, and their %s are in %s: name that or none, or discard the job with %s",
			name, now, setting.Count(records, "record"), cmp.Or(was, "no file"), setting.Restart))
	}
	m := all[0]
	err := cmp.Or(same(setting.RejectFile, m.Rejected, m.RejectFile, w.RejectFile), same(setting.FilteredFile, m.Filtered, m.FilteredFile, w.FilteredFile))
	if w.DuplicatesFile == "" {
		return err
	}
	for i, t := range s.Targets()[:min(len(all), len(s.Targets()))] {
		err = cmp.Or(err, same(setting.DuplicatesFile, all[i].Duplicates, all[i].DuplicatesFile, w.duplicatesOf(i, t.Table)))
	}
	return err
}

// files returns all files of records that are not loaded.
func (k *Input) files() []*source.RejectFile {
	return slices.DeleteFunc(append([]*source.RejectFile{k.Budget.File, k.Filtered}, k.Duplicates...), func(f *source.RejectFile) bool { return f == nil })
}

// checkFiles returns an error for a records file that cannot be written, for two settings that name the same file, and for a records file
// that is an input, as far as the inputs are known.
func (k *Input) checkFiles() error {
	used := map[string]bool{}
	for _, f := range k.files() {
		if used[f.Path()] {
			return fail.With(fail.Config, setting.Errorf("%s cannot have records of two kinds: give files of their own with %s, %s and %s", f.Path(), setting.RejectFile, setting.FilteredFile, setting.DuplicatesFile))
		}
		used[f.Path()] = true
		if err := f.Check(k.Source); err != nil {
			return fail.With(fail.Config, err)
		}
	}
	return nil
}

// dropLeftOut removes the unfinished files of left-out records of a failed build; those of an earlier build stay. It keeps the file of bad records,
// because it explains the failure: [source.RejectFile.Finish] completes it.
func (k *Input) dropLeftOut() (err error) {
	for _, f := range k.files() {
		if f != k.Budget.File && err == nil {
			err = f.Abort()
		}
	}
	return err
}

// finish renames a file of records to its final name and returns the name, or "" if there is no file, records is 0, or nothing was written.
func (o Options) finish(f *source.RejectFile, records int64) (string, error) {
	if f == nil || records == 0 {
		return "", nil
	}
	if err := o.allowed(); err != nil {
		return "", err
	}
	n, err := f.Finish()
	if err != nil || n == 0 {
		return "", err
	}
	return f.Path(), nil
}

// finishLeftOut renames the files of records that were left out to their final names and records the names in the manifests. In a build that can
// be resumed, the file of filtered records has its name since pass 1.
func (o Options) finishLeftOut(filtered int64, all []*manifest.Manifest) error {
	if o.resume == nil {
		file, err := o.finish(o.Filtered, filtered)
		if err != nil {
			return err
		}
		for _, m := range all {
			m.FilteredFile = file
		}
	}
	for i, f := range o.Duplicates {
		var err error
		if all[i].DuplicatesFile, err = o.finish(f, all[i].Duplicates); err != nil {
			return err
		}
	}
	return nil
}

// fileKept reports whether the records file that an earlier attempt wrote is at the path that this attempt uses. It is also true if there
// are not records.
func fileKept(records int64, file string, f *source.RejectFile) bool {
	if records == 0 || f == nil {
		return true
	}
	_, err := os.Stat(file)
	return err == nil && file == f.Path()
}

// hasRejects reports whether an attempt that has read the whole input has written the file of bad records: one that reads the input again, and fails, must
// not replace it by a part.
func (r *Resume) hasRejects(f *source.RejectFile) bool {
	return r != nil && r.Sorted != nil && r.Sorted.Rejected > 0 && fileKept(r.Sorted.Rejected, r.Sorted.RejectFile, f)
}

// filesKept reports whether the records files of pass 1 are at the paths that this attempt uses.
func (r *Resume) filesKept(o Options) bool {
	s := r.Sorted
	return fileKept(s.Rejected, s.RejectFile, o.Budget.File) && fileKept(s.Filtered, s.FilteredFile, o.Filtered)
}
