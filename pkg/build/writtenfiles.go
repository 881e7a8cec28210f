package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"bulkload/pkg/fail"
	"bulkload/pkg/filecheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
)

// ChecksumOf is the checksum of a file that the build wrote, for journals whose
// load does not have it; 0 if it is not known.
func (d *Done) ChecksumOf(id uint64, size int64) uint32 {
	for _, w := range d.Written {
		for _, g := range append([]manifest.File{w.File}, w.Others...) {
			if id != 0 && g.FileID == id && g.Bytes == size {
				return g.CRC32C
			}
		}
	}
	return 0
}

// CheckWritten proves the files of earlier attempts. Those that are not as
// they were written count as not written, with all of their region.
func (r *Resume) CheckWritten(ctx context.Context, out Output, gate progress.Gate, e progress.Events) error {
	var work []filecheck.Target
	for _, region := range slices.Sorted(maps.Keys(r.Written)) {
		w := r.Written[region]
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
		delete(r.Written, work[i].Region)
	}
	return nil
}

// KeepWritten forgets the files of earlier attempts that are not there as
// they were written, and removes what was not finished. A look that failed
// says nothing of a file.
func (r *Resume) KeepWritten(ctx context.Context, out Output) error {
	before := len(r.Written)
	for region, w := range r.Written {
		for _, f := range append([]manifest.File{w.File}, w.Others...) {
			info, err := out.FS.Stat(ctx, path.Join(out.Dir, f.Name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fail.With(fail.HDFS, err)
			}
			if err == nil && info.Size() == f.Bytes {
				if id, ok := hdfsio.FileID(info); !ok || f.FileID == 0 || id == f.FileID {
					continue
				}
			}
			delete(r.Written, region)
		}
	}
	if err := out.FS.RemoveAll(ctx, path.Join(out.Dir, WritingDir)); err != nil {
		return fail.With(fail.HDFS, err)
	}
	if kept := len(r.Written); kept < before {
		r.Built = nil // what the journal says of it, it says again when they are there
	}
	return nil
}
