package job

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bulkload/pkg/fail"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/progress"
	"bulkload/pkg/source"
)

// spillRecord is where an attempt keeps the sorted runs of its input. An
// empty one says that they are gone.
type spillRecord struct {
	Dir string `json:"dir"`
}

// openSort prepares the sort of a build. One that can go on keeps its runs in
// a directory of its own, and takes up those of an earlier attempt that has
// sorted all of the input; reopened says that it did.
func (r *resumable) openSort(o extsort.Options, budget *source.Budget, e progress.Events) (s *extsort.Sorter, reopened bool, err error) {
	if r == nil {
		s, err = extsort.New(o)
		return s, false, fail.With(fail.Config, err)
	}
	if sorted := r.st.sorted; sorted != nil && len(sorted.Runs) > 0 && r.rejectsKept(budget) {
		s, err := r.reopenSort(o)
		if err == nil {
			e.Note("the input is sorted already", "runs", len(sorted.Runs), "dir", r.st.spill)
			if err := r.afterSort(s, sorted.sortTotals, sorted.Sums); err != nil {
				return nil, false, errors.Join(err, s.Close())
			}
			return s, true, nil
		}
		if !errors.Is(err, extsort.ErrCorrupt) {
			return nil, false, err
		}
		e.Warn("the sorted rows of the attempt before cannot be used, the input is read again", "error", err)
	}
	if err := r.st.dropSpill(); err != nil {
		return nil, false, fail.With(fail.HDFS, err)
	}
	parent, err := filepath.Abs(cmp.Or(o.Dir, os.TempDir()))
	if err != nil {
		return nil, false, fail.With(fail.Config, err)
	}
	if o.Dir, err = os.MkdirTemp(parent, spillPrefix(r.st.dir)+"*"); err != nil {
		return nil, false, fail.With(fail.Config, fmt.Errorf("directory for sorted rows: %w (name one with --spill-dir)", err))
	}
	r.st.spill = o.Dir
	if err := r.st.record("spill", spillRecord{o.Dir}, false); err != nil {
		return nil, false, err
	}
	o.Keep = true
	s, err = extsort.New(o)
	return s, false, fail.With(fail.Config, err)
}

// reopenSort takes up the runs of an earlier attempt. Regions whose files were
// there then are not in them: if one is gone since, the runs are of no use.
func (r *resumable) reopenSort(o extsort.Options) (*extsort.Sorter, error) {
	info, err := os.Lstat(r.st.spill)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", extsort.ErrCorrupt, err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(owner.Uid) != os.Getuid() {
		return nil, fmt.Errorf("%w: %s is not a directory of this user", extsort.ErrCorrupt, r.st.spill)
	}
	o.Dir = r.st.spill
	s, err := extsort.Reopen(o, r.st.sorted.Runs)
	if err != nil {
		return nil, err
	}
	for _, region := range r.st.sorted.Regions {
		if rows, _ := s.Size(region); rows == 0 && !r.has(region) {
			return nil, errors.Join(fmt.Errorf("%w: it has no rows of region %d, whose file is gone", extsort.ErrCorrupt, region), s.Close())
		}
	}
	return s, nil
}

// rejectsKept says whether the bad records that pass 1 has set aside are
// where this attempt wants them.
func (r *resumable) rejectsKept(b *source.Budget) bool {
	s := r.st.sorted
	if s.Rejected == 0 || b.File == nil {
		return true
	}
	_, err := os.Stat(s.RejectFile)
	return err == nil && s.RejectFile == b.File.Path()
}

// afterSort notes what pass 1 came to, if it is not noted already.
func (r *resumable) afterSort(sorter *extsort.Sorter, totals sortTotals, sums splitSums) error {
	if r == nil {
		return nil
	}
	s := sortedRecord{sortTotals: totals, Regions: []int{}, Sums: sums}
	for i := range sorter.Regions() {
		if rows, _ := sorter.Size(i); rows > 0 || r.has(i) {
			s.Regions = append(s.Regions, i)
		}
	}
	var err error
	if s.Runs, err = sorter.Saved(); err != nil {
		return fail.With(fail.HDFS, err)
	}
	if old := r.st.sorted; old != nil && old.sortTotals == s.sortTotals && slices.Equal(old.Runs, s.Runs) && slices.Equal(old.Regions, s.Regions) && slices.Equal(old.Sums, s.Sums) {
		return nil
	}
	r.st.sorted = &s
	return r.st.record("sorted", s, true)
}

// spillPrefix begins the name of every directory that a job's runs are in.
func spillPrefix(state string) string { return "bulkload-" + filepath.Base(state) + "-" }

// removeSpill removes a directory of runs that the journal of a job names, if
// it has the form of one.
func removeSpill(state, dir string) error {
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) || !strings.HasPrefix(filepath.Base(dir), spillPrefix(state)) {
		return fmt.Errorf("the journal names %s for sorted rows, which has not the form of such a directory: remove it yourself", dir)
	}
	return os.RemoveAll(dir)
}

// dropSpill removes the sorted runs, when the files are built or the runs are
// of no use.
func (st *state) dropSpill() error {
	if st.spill == "" {
		return nil
	}
	if err := removeSpill(st.dir, st.spill); err != nil {
		return err
	}
	st.forgetSpill("")
	return st.record("spill", spillRecord{}, false)
}

func (h *history) forgetSpill(now string) {
	h.spill = now
	if h.sorted != nil {
		h.sorted.Runs = nil
	}
}
