package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/setting"
)

// proveStaged checks the files of a run that are about to be loaded. If the load
// has begun, it checks the files that are still at their sources.
func (j *run) proveStaged(ctx context.Context, st *stage, m *manifest.Manifest) error {
	log := j.job
	var work []filecheck.Target
	if !log.Loading {
		for _, f := range m.Files {
			work = append(work, filecheck.Target{File: f, Path: path.Join(st.out.Dir, f.Name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(log.Leaves)) {
		if f, at := log.Leaves[name], log.Files[name]; log.Loading && at != checkpoint.FileLoaded {
			file := manifest.File{Name: name, Family: f.Family, FirstRow: f.First, LastRow: f.Last, Cells: f.Cells, Bytes: f.Size, CRC32C: cmp.Or(f.CRC32C, log.ChecksumOf(f.FileID, f.Size))}
			work = append(work, filecheck.Target{File: file, Path: pathOf(f.Path), MayBeGone: at == checkpoint.FileSent})
		}
	}
	damaged, err := (&filecheck.Checker{FS: st.out.FS, Gate: j.options.Gate, Events: j.options.Events}).All(ctx, work)
	if errors.Is(err, fs.ErrNotExist) && log.Loading && log.History.Undo == nil { // an undo writes them again
		return fail.With(fail.HDFS, setting.Errorf("files to be loaded were removed: %w: put them back into %s, or load all again with %s", err, st.Location, setting.Restart))
	}
	if err != nil {
		return fail.With(fail.HDFS, fmt.Errorf("read the files before they are loaded: %w", err))
	}
	if len(damaged) == 0 {
		return nil
	}
	var errs []error
	for _, i := range slices.Sorted(maps.Keys(damaged)) {
		errs = append(errs, damaged[i])
	}
	if !log.Loading {
		return fail.With(fail.HDFS, fmt.Errorf("nothing was loaded: %w; the same command writes damaged files again", errors.Join(errs...)))
	}
	again := setting.Textf("; %s loads all of the input again", setting.Restart)
	if log.History.Undo != nil { // it writes them again
		again = setting.Text{}
	}
	return fail.With(fail.Load, setting.Errorf("the load stopped half way: %w; restore the files and run the same command again%s", errors.Join(errs...), again))
}

// proveDir checks the files of a directory that is to be loaded, and fills in the
// checksums of the files that it has read. Local files with a known checksum are
// checked while they are uploaded.
func proveDir(ctx context.Context, out build.Output, files []manifest.File, local bool, o LoadOptions) error {
	var work []filecheck.Target
	var which []int
	for i, f := range files {
		if !local || f.CRC32C == 0 {
			work, which = append(work, filecheck.Target{File: f, Path: path.Join(out.Dir, f.Name)}), append(which, i)
		}
	}
	damaged, err := (&filecheck.Checker{FS: out.FS, Gate: o.Gate, Events: o.Events}).All(ctx, work)
	if err != nil {
		return fail.With(fail.Input, err)
	}
	var list []*filecheck.DamagedError
	for i := range work {
		if d := damaged[i]; d != nil {
			list = append(list, d)
		}
		f := &files[which[i]]
		if f.CRC32C = work[i].CRC32C; !local {
			f.FileID = work[i].ID
		}
	}
	if len(list) > 0 {
		return refuse(out.Dir, list)
	}
	return nil
}

// maxRefused is the maximum number of damaged files that a message names.
const maxRefused = 5

// refuse returns the error of a load with damaged files.
func refuse(dir string, damaged []*filecheck.DamagedError) error {
	var errs []error
	slices.SortFunc(damaged, func(a, b *filecheck.DamagedError) int { return cmp.Compare(a.Path, b.Path) })
	for _, d := range damaged[:min(len(damaged), maxRefused)] {
		errs = append(errs, d)
	}
	if more := len(damaged) - maxRefused; more > 0 {
		errs = append(errs, fmt.Errorf("and %d more are damaged", more))
	}
	return fail.With(fail.Input, setting.Errorf("nothing of %s was loaded: %w; build or copy the files again (bulkload hfile check FILE says what is wrong; %s loads them unchecked)",
		dir, errors.Join(errs...), setting.TrustFiles))
}
