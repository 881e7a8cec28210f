package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"bulkload/pkg/fail"
	"bulkload/pkg/filecheck"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
)

// proveStaged proves the files of a run that are about to be loaded. Those of
// a load that has begun are proven where they still are at their sources.
func proveStaged(ctx context.Context, st *stage, m *manifest.Manifest, log *state, gate progress.Gate, e progress.Events) error {
	var work []filecheck.Target
	if !log.loading {
		for _, f := range m.Files {
			work = append(work, filecheck.Target{File: f, Path: path.Join(st.out.Dir, f.Name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(log.leaves)) {
		if f, at := log.leaves[name], log.files[name]; log.loading && at != fileLoaded {
			file := manifest.File{Name: name, Family: f.Family, FirstRow: f.First, LastRow: f.Last, Cells: f.Cells, Bytes: f.Size, CRC32C: cmp.Or(f.CRC32C, log.sumOf(f))}
			work = append(work, filecheck.Target{File: file, Path: pathOf(f.Path), MayBeGone: at == fileSent})
		}
	}
	damaged, err := (&filecheck.Checker{FS: st.out.FS, Gate: gate, Events: e}).All(ctx, work)
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
	if !log.loading {
		return fail.With(fail.HDFS, fmt.Errorf("nothing was loaded: %w\nthe same command writes damaged files again", errors.Join(errs...)))
	}
	return fail.With(fail.Load, fmt.Errorf("the load had begun, and nothing more is loaded: %w\nput back the files as they were written, from a copy or a replica, and give the same command again; "+
		"--restart loads all of the input anew", errors.Join(errs...)))
}

// sumOf is the checksum of a file that the build wrote, for journals whose
// load does not have it.
func (h *history) sumOf(f fileRecord) uint32 {
	for _, w := range h.written {
		for _, g := range append([]manifest.File{w.File}, w.Others...) {
			if f.FileID != 0 && g.FileID == f.FileID && g.Bytes == f.Size {
				return g.CRC32C
			}
		}
	}
	return 0
}

// proveWritten proves the files of earlier attempts. Those that are not as
// they were written count as not written, with all of their region.
func (r *resumable) proveWritten(ctx context.Context, out Output, gate progress.Gate, e progress.Events) error {
	var work []filecheck.Target
	for _, region := range slices.Sorted(maps.Keys(r.st.written)) {
		w := r.st.written[region]
		for _, f := range append([]manifest.File{w.File}, w.Others...) {
			work = append(work, filecheck.Target{File: f, Path: path.Join(out.Dir, f.Name)})
		}
	}
	damaged, err := (&filecheck.Checker{FS: out.FS, Gate: gate, Events: e}).All(ctx, work)
	if err != nil {
		return fail.With(fail.HDFS, fmt.Errorf("read the files of an earlier attempt: %w", err))
	}
	for i, d := range damaged {
		e.Warn("a file of an earlier attempt is damaged and is written again", "error", d)
		delete(r.st.written, work[i].Region)
	}
	return nil
}
