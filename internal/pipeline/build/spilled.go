package build

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// openSort prepares the sort of a build. A resumable build keeps its runs in a
// directory of its own, and reuses the runs of an earlier attempt that has
// sorted the whole input; reopened reports whether it did.
func (r *Resume) openSort(o extsort.Options, build Options) (s *extsort.Sorter, reopened bool, err error) {
	if r == nil {
		s, err = extsort.New(o)
		return s, false, fail.With(fail.Config, err)
	}
	if sorted := r.Sorted; sorted != nil && len(sorted.Runs) > 0 && r.usable(build) {
		s, err := r.reopenSort(o)
		if err == nil {
			build.Events.Note("the input is sorted already", "runs", len(sorted.Runs), "dir", r.Spill)
			if err := r.afterSort(s, sorted.sortTotals, sorted.Sums); err != nil {
				return nil, false, errors.Join(err, s.Close())
			}
			return s, true, nil
		}
		if !errors.Is(err, extsort.ErrCorrupt) {
			return nil, false, err
		}
		build.Events.Warn("the sorted rows of the earlier attempt cannot be used; the input is read again", "error", err)
	}
	if err := r.DropSpill(); err != nil {
		return nil, false, fail.With(fail.HDFS, err)
	}
	parent, err := filepath.Abs(cmp.Or(o.Dir, os.TempDir()))
	if err != nil {
		return nil, false, fail.With(fail.Config, err)
	}
	o.Dir = filepath.Join(parent, SpillPrefix(r.Name)+rand.Text())
	if err := r.Checkpoint.Spilling(SpillRecord{o.Dir}); err != nil {
		return nil, false, err
	}
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		return nil, false, fail.With(fail.Config, setting.Errorf("directory for sorted rows: %w (name one with %s)", err, setting.SpillDir))
	}
	o.Keep = true
	s, err = extsort.New(o)
	return s, false, fail.With(fail.Config, err)
}

// reopenSort opens the runs of an earlier attempt. They lack the regions whose
// files existed then: if such a file is gone, the runs are useless.
func (r *Resume) reopenSort(o extsort.Options) (*extsort.Sorter, error) {
	info, err := os.Lstat(r.Spill)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", extsort.ErrCorrupt, err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(owner.Uid) != os.Getuid() {
		return nil, fmt.Errorf("%w: %s is not a directory of this user", extsort.ErrCorrupt, r.Spill)
	}
	o.Dir = r.Spill
	s, err := extsort.Reopen(o, r.Sorted.Runs)
	if err != nil {
		return nil, err
	}
	for _, region := range r.Sorted.Regions {
		if rows, _ := s.Size(region); rows == 0 && !r.has(region) {
			return nil, errors.Join(fmt.Errorf("%w: it has no rows of region %d, whose file is gone", extsort.ErrCorrupt, region), s.Close())
		}
	}
	return s, nil
}

// usable reports whether the record of pass 1 suffices for this attempt.
func (r *Resume) usable(o Options) bool {
	return r.filesKept(o) && r.Sorted.Expect.Covers(o.Checks)
}

// afterSort records the result of pass 1, unless it is already recorded.
func (r *Resume) afterSort(sorter *extsort.Sorter, totals sortTotals, sums SplitSums) error {
	if r == nil {
		return nil
	}
	s := SortedRecord{sortTotals: totals, Regions: []int{}, Sums: sums}
	for i := range sorter.Regions() {
		if rows, _ := sorter.Size(i); rows > 0 || r.has(i) {
			s.Regions = append(s.Regions, i)
		}
	}
	var err error
	if s.Runs, err = sorter.Saved(); err != nil {
		return fail.With(fail.HDFS, err)
	}
	if old := r.Sorted; old != nil && reflect.DeepEqual(old.sortTotals, s.sortTotals) && slices.Equal(old.Runs, s.Runs) && slices.Equal(old.Regions, s.Regions) && slices.Equal(old.Sums, s.Sums) {
		return nil
	}
	return r.Checkpoint.Sorted(s)
}

// SpillPrefix returns the prefix of the names of a job's directories for runs.
func SpillPrefix(state string) string { return "bulkload-" + filepath.Base(state) + "-" }

// RemoveSpill removes a directory of runs that the journal of a job names. It
// returns an error if the name does not have the form of such a directory.
func RemoveSpill(state, dir string) error {
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) || !strings.HasPrefix(filepath.Base(dir), SpillPrefix(state)) {
		return fmt.Errorf("the journal names %s for sorted rows, which is not such a directory: remove it by hand", dir)
	}
	return os.RemoveAll(dir)
}

// DropSpill removes the sorted runs, when the files are built or the runs are
// useless.
func (r *Resume) DropSpill() error {
	if r.Spill == "" {
		return nil
	}
	if err := RemoveSpill(r.Name, r.Spill); err != nil {
		return err
	}
	return r.Checkpoint.Spilling(SpillRecord{})
}

// ForgetSpill records the new directory of sorted runs, or that there is none.
func (d *Done) ForgetSpill(now string) {
	d.Spill = now
	if d.Sorted != nil {
		d.Sorted.Runs = nil
	}
}

// streams returns the stream state of the job, whose copies are in its spill directory; nil without a checkpoint.
func (r *Resume) streams() *streams.Job {
	if r == nil {
		return nil
	}
	return &streams.Job{Prefix: SpillPrefix(r.Name), Known: func(place string) streams.State { return r.Streams[place] }, Note: r.Checkpoint.Streaming,
		Remove: func(name string) error { return RemoveSpill(r.Name, name) }}
}

// DropStreams removes the copies of streams, when they will not be read again.
func (r *Resume) DropStreams() error { return streams.Drop(r.Streams, r.streams()) }
