package build

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// restOfAddresses is the least address space that the program takes apart from its memory budget. Go's runtime reserves most of it.
const restOfAddresses = 1 << 30

// memoryError is an error about a limit of this process, which another attempt may have raised. It is [extsort.ErrMemory] too.
type memoryError struct{ error }

func (e memoryError) Unwrap() error      { return e.error }
func (memoryError) Is(target error) bool { return target == extsort.ErrMemory }

// addressable refuses a limit of the address space that has no room for the memory budget: Go's runtime would end the program.
func (o Options) addressable(limit uint64) error {
	need := uint64(o.Memory) + restOfAddresses
	if limit >= need {
		return nil
	}
	return memoryError{fail.Errorf(fail.Config, "memory of %s needs an address space of %s, and this process may have %s (raise that with ulimit -v, or give less %s)",
		o.Memory, spec.Size(need).Rounded(), spec.Size(limit).Rounded(), setting.Memory)}
}

// explainLimits adds advice to a build's error about a limit of this machine.
func explainLimits(err error, o Options) error {
	if err == nil {
		return nil
	}
	dir, e := filepath.Abs(cmp.Or(o.SpillDir, os.TempDir()))
	name := fail.WrittenName(err)
	spill := e == nil && (name == dir || strings.HasPrefix(name, dir+"/") && extsort.OwnFile(name))
	switch {
	case errors.Is(err, extsort.ErrMemory):
		return fail.With(fail.Config, err)
	case errors.Is(err, syscall.ENOMEM):
		return memoryError{fail.Errorf(fail.Config, "%w; or raise the limit of the address space with ulimit -v", err)}
	case errors.Is(err, syscall.EMFILE):
		var limit syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
			return err
		}
		return &fail.Error{Kind: fail.HDFS, Err: setting.Errorf("%w: this process may open %s (raise that with ulimit -n, or LimitNOFILE of a systemd unit, or give fewer %s)",
			err, setting.Count(limit.Cur, "file"), setting.Workers)}
	case spill && fail.DiskFull(err):
		err = fail.With(fail.HDFS, err)
		if full, ok := errors.AsType[*fail.DiskFullError](err); ok {
			full.Advise(setting.Textf("the disk of %s is full of sorted rows: make room there, name a directory on a larger disk with %s, or give more %s", dir, setting.SpillDir, setting.Memory))
		}
	case spill && name != dir:
		return &fail.Error{Kind: fail.HDFS, Err: setting.Errorf("%w: sorted rows cannot be written to or read from %s (name another directory with %s)", err, dir, setting.SpillDir)}
	}
	return err
}

// readerMemory returns the part of the budget that a worker's reader may take: the worker's share, less the minimum of the sort.
func (o Options) readerMemory() int64 {
	return max(1<<20, (int64(o.Memory)-o.HeapFloor()/2)/int64(o.Workers)-extsort.MinMemory)
}

// memoryFor returns the budget that leaves each worker's reader the given number of bytes.
func (o Options) memoryFor(reader int64) spec.Size {
	n := (reader + extsort.MinMemory) * int64(o.Workers)
	return spec.Size(((n + n/31 + 1<<20) >> 20) << 20)
}

// indexMemory returns the part of the budget that the indexes of the files of a worker may take. The sort does not need it: an index of this
// size belongs to rows that have been spilled, or takes a fraction of the memory of the rows.
func (o Options) indexMemory() int64 { return int64(o.Memory) / int64(4*max(o.Workers, 1)) }

// indexError adds advice to the error about the index of a region's file that takes too much memory.
func (w *writers) indexError(r region, err error) error {
	if !errors.Is(err, hfile.ErrIndexMemory) {
		return err
	}
	return memoryError{fail.Errorf(fail.Config, "region %d of %d: %w (give more %s, fewer %s, shorter keys or more regions)",
		r.i+1, w.plan.Ranges.Len(), err, setting.Memory, setting.Workers)}
}

// inputMemory adds advice to an error about an input that needs more memory than a reader has.
func (o Options) inputMemory(err error) error {
	me, ok := errors.AsType[*source.MemoryError](err)
	switch {
	case !ok:
		return err
	case me.Need > 0:
		return fail.With(fail.Config, setting.Errorf("%w: give %s %s for %s, or fewer %s", err, setting.Memory, o.memoryFor(me.Need), setting.Count(o.Workers, "worker"), setting.Workers))
	}
	return fail.With(fail.Config, setting.Errorf("%w: give more with %s (it is %s for %s), or fewer %s", err, setting.Memory, o.Memory, setting.Count(o.Workers, "worker"), setting.Workers))
}

// readCount counts the input that pass 1 has read. It is safe for concurrent use.
type readCount struct {
	rows, bytes, splits atomic.Int64
}

// add counts a batch.
func (c *readCount) add(b *source.Batch) {
	c.rows.Add(int64(b.Rows))
	c.bytes.Add(b.Bytes)
}

// share returns the fraction of the input that was read, between 0 and 1; 0 if it is unknown.
func (c *readCount) share(in *source.Input) float64 {
	var total int64
	for _, f := range in.Files() {
		if f.Compression != "" || f.Format.Traits().Rows {
			// Their uncompressed size is unknown, but splits are about equal.
			return float64(c.splits.Load()) / float64(max(len(in.Splits()), 1))
		}
		total += f.Size
	}
	return min(float64(c.bytes.Load())/float64(max(total, 1)), 1)
}

// explainSpill adds to the error of a sort that exceeds its disk limit an
// estimate of the size that it needs.
func (r *readers) explainSpill(err error) error {
	e, ok := errors.AsType[*extsort.LimitError](err)
	if !ok {
		return err
	}
	advice := setting.Textf("allow more with %s, give more %s, or load the input in parts", setting.SpillLimit, setting.Memory)
	found := "the size that is needed is not known yet"
	if e.Need > 0 {
		found = fmt.Sprintf("all of the input was read; merging its sorted rows needs %s for a while", spec.Size(e.Need).Rounded())
	} else if share := r.got.share(r.in); share > 0 && e.Rows > 0 {
		// Rows that are still in memory will be written to disk too.
		rows := float64(r.got.rows.Load()) / share
		raw := rows * float64(e.Raw) / float64(e.Rows)
		need := float64(r.sort.Forecast(int64(rows), int64(raw)).Most) * float64(e.Bytes) / float64(e.Raw)
		found = fmt.Sprintf("%.0f %% of the input was read; all of it needs about %s", 100*share, spec.Size(need).Rounded())
	}
	// The current record is not the cause.
	return &fail.Error{Kind: fail.Config, Err: setting.Errorf("the limit of %s for sorted rows on disk (%s) is reached: %s (%s): %w", spec.Size(e.Limit).Rounded(), setting.SpillLimit, found, advice, e)}
}
