package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/setting"
)

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
