package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hdfsio"
)

// ChecksumOf returns the checksum of a file that the build wrote, 0 if it is
// unknown. It is for journals whose load record lacks it.
func (d *Done) ChecksumOf(id uint64, size int64) uint32 {
	for _, w := range d.Written {
		for _, g := range w.Files() {
			if id != 0 && g.FileID == id && g.Bytes == size {
				return g.CRC32C
			}
		}
	}
	return 0
}

// CheckWritten verifies the files of earlier attempts, which are on one file system. The regions of missing
// or damaged files count as not written. The plan of a single table is not needed.
func (r *Resume) CheckWritten(ctx context.Context, tables []Table, gate progress.Gate, e progress.Events) error {
	var work []filecheck.Target
	var ordinals []int
	for _, ordinal := range slices.Sorted(maps.Keys(r.Written)) {
		w := r.Written[ordinal]
		for _, f := range w.Files() {
			work = append(work, filecheck.Target{File: f, Path: path.Join(outOf(tables, ordinal).Dir, f.Name)})
			ordinals = append(ordinals, ordinal)
		}
	}
	damaged, err := (&filecheck.Checker{FS: tables[0].Out.FS, Gate: gate, Events: e}).All(ctx, work)
	if err != nil {
		return fail.With(fail.HDFS, fmt.Errorf("read the files of an earlier attempt: %w", err))
	}
	lost := map[int]bool{}
	for i, d := range damaged {
		e.Warn("a file of an earlier attempt is damaged and is written again", "error", d)
		lost[ordinals[i]] = true
	}
	return r.lose(lost)
}

// lose records that files must be written again.
func (r *Resume) lose(regions map[int]bool) error {
	if len(regions) == 0 {
		return nil
	}
	return r.Checkpoint.Lost(LostRecord{Regions: slices.Sorted(maps.Keys(regions))})
}

// outOf returns the output of a region, given by its ordinal in the sort. A single table needs no plan.
func outOf(tables []Table, ordinal int) Output {
	for i, t := range tables {
		if i == len(tables)-1 || ordinal < t.Plan.Ranges.Len() {
			return t.Out
		}
		ordinal -= t.Plan.Ranges.Len()
	}
	return Output{}
}

// KeepWritten forgets the files of earlier attempts that are missing or differ
// from what was written, and removes unfinished files. If a file cannot be
// examined, it returns the error and forgets nothing. The plan of a single table is not needed.
func (r *Resume) KeepWritten(ctx context.Context, tables []Table) error {
	lost := map[int]bool{}
	for ordinal, w := range r.Written {
		out := outOf(tables, ordinal)
		for _, f := range w.Files() {
			info, err := out.FS.Stat(ctx, path.Join(out.Dir, f.Name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fail.With(fail.HDFS, err)
			}
			if err == nil && info.Size() == f.Bytes {
				if id, ok := hdfsio.FileID(info); !ok || f.FileID == 0 || id == f.FileID {
					continue
				}
			}
			lost[ordinal] = true
		}
	}
	for _, t := range tables {
		if err := t.Out.FS.RemoveAll(ctx, path.Join(t.Out.Dir, WritingDir)); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	return r.lose(lost)
}
