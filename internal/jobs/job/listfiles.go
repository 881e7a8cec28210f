package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bulkload/internal/base/abilities"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/listing"
)

// ListHFiles opens every file of every family. A file that is not an HFile, or
// has cells of another family, is an error: skipping it would lose rows.
func ListHFiles(ctx context.Context, fsys hdfsio.FS, dir string) ([]manifest.File, error) {
	families, err := fsys.ReadDir(ctx, dir)
	if err != nil {
		return nil, fail.With(fail.Input, err)
	}
	var files []manifest.File
	for _, d := range families {
		if passed, err := passedOver(dir, d, families); err != nil {
			return nil, err
		} else if passed {
			continue
		}
		if !d.IsDir() {
			return nil, fail.Errorf(fail.Input, "%s is not the directory of a family: HFiles are in %s/FAMILY/", path.Join(dir, d.Name()), dir)
		}
		list, err := familyFiles(ctx, fsys, path.Join(dir, d.Name()))
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			f, err := describeFile(ctx, fsys, dir, d.Name(), x)
			if err != nil {
				return nil, fail.With(fail.Input, err)
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, noHFiles(dir)
	}
	return files, nil
}

// familyFiles lists a family's directory, without the checksums and the marks of success that Hadoop's tools leave there. HBase's
// BulkLoadHFilesTool skips the marks too.
func familyFiles(ctx context.Context, fsys hdfsio.FS, dir string) ([]fs.FileInfo, error) {
	files, err := fsys.ReadDir(ctx, dir)
	return slices.DeleteFunc(files, func(f fs.FileInfo) bool {
		kind := listing.HiddenKind(f.Name())
		return kind == ".*.crc" || kind == "_SUCCESS"
	}), fail.With(fail.Input, err)
}

// noHFiles returns the error of a directory without files.
func noHFiles(dir string) error {
	return fail.Errorf(fail.Input, "%s holds no HFiles (they are in %s/FAMILY/)", dir, dir)
}

// passedOver reports whether an entry of the directory is known to have no files
// of a family. Every other directory is a family's, also one whose name begins
// with an underscore, which HBase allows. A family's name never begins with a dot. all are the entries.
func passedOver(dir string, entry fs.FileInfo, all []fs.FileInfo) (bool, error) {
	name := entry.Name()
	switch {
	case strings.HasPrefix(name, "."):
		return true, nil
	case !entry.IsDir():
		kind := listing.HiddenKind(name)
		return name == manifest.FileName || name == staging.JournalName || kind != "" && kind != "_*", nil
	case name == build.WritingDir && slices.ContainsFunc(all, func(e fs.FileInfo) bool { return e.Name() == build.MergeDir }):
		return false, fail.With(fail.Input, setting.Errorf("%s has %s: not all of its merges are done; give those that are left (merge with %s)", dir, name, setting.Share))
	case name == build.WritingDir:
		return false, fail.Errorf(fail.Input, "%s has %s: the build was not finished; build again", dir, name)
	case strings.HasPrefix(name, build.LoadingPrefix):
		return false, fail.With(fail.Check, setting.Errorf("%s has %s: its load was begun, but its journal is not here; run that command with its %s, or remove %s", dir, name, setting.State, name))
	case name == build.TemporaryDir:
		return false, fail.Errorf(fail.Input, "%s has %s: its job has not finished; run it again, or remove %s", dir, name, name)
	}
	return name == build.MergeDir, nil
}

// checkMergeDir refuses a directory that [ListHFiles] has skipped, but that is
// named like a family of the table.
func checkMergeDir(ctx context.Context, fsys hdfsio.FS, dir string, t *loader.Table) error {
	if _, ok := t.Family(build.MergeDir); !ok {
		return nil
	}
	if _, err := fsys.Stat(ctx, path.Join(dir, build.MergeDir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fail.Errorf(fail.Check, "%s has %s, with bulkload's own files, but table %s has a family of that name: load it with HBase's completebulkload", dir, build.MergeDir, t.Name)
}

func describeFile(ctx context.Context, fsys hdfsio.FS, dir, family string, info fs.FileInfo) (manifest.File, error) {
	name := path.Join(dir, family, info.Name())
	if info.IsDir() {
		return manifest.File{}, fmt.Errorf("%s is a directory, but only HFiles are allowed there: %w", name, abilities.Refusal(abilities.Load, abilities.Several))
	}
	m, err := filecheck.ReadMeta(ctx, fsys, name)
	if err != nil {
		return manifest.File{}, fmt.Errorf("%s: %w", name, err)
	}
	if m.Cells == 0 {
		return manifest.File{}, fmt.Errorf("%s has no cells: HBase refuses such a file; remove it", name)
	}
	if string(m.Family) != family {
		return manifest.File{}, fmt.Errorf("%s has cells of family %q: it is in another family's directory", name, m.Family)
	}
	return manifest.File{Name: path.Join(family, info.Name()), Family: family, FirstRow: m.FirstRow, LastRow: m.LastRow, Cells: m.Cells, Bytes: m.Bytes}, nil
}

// sameFiles reports whether the directory still has the files of the manifest.
func sameFiles(m *manifest.Manifest, files []manifest.File) error {
	have := make(map[string]manifest.File, len(files))
	for _, f := range files {
		have[f.Name] = f
	}
	for _, want := range m.Files {
		f, ok := have[want.Name]
		if !ok {
			return fmt.Errorf("%s is in the manifest but missing: it was loaded by a command with its state elsewhere, or it is lost", want.Name)
		}
		if f.Bytes != want.Bytes || f.Cells != want.Cells {
			return fmt.Errorf("%s has %d bytes and %d cells, the manifest says %d and %d", want.Name, f.Bytes, f.Cells, want.Bytes, want.Cells)
		}
		if f.Family != want.Family || !bytes.Equal(f.FirstRow, want.FirstRow) || !bytes.Equal(f.LastRow, want.LastRow) {
			return fmt.Errorf("%s has another family or other first and last rows than the manifest says", want.Name)
		}
		delete(have, want.Name)
	}
	for name := range have {
		return fmt.Errorf("%s is not in the manifest", name)
	}
	return nil
}
