package build

import (
	"errors"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// readerMemory returns the part of the budget that a worker's reader may take: the worker's share, less the minimum of the sort.
func (o Options) readerMemory() int64 {
	return max(1<<20, (int64(o.Memory)-o.HeapFloor()/2)/int64(o.Workers)-extsort.MinMemory)
}

// memoryFor returns the budget that leaves each worker's reader the given number of bytes.
func (o Options) memoryFor(reader int64) spec.Size {
	n := (reader + extsort.MinMemory) * int64(o.Workers)
	return spec.Size(((n + n/31 + 1<<20) >> 20) << 20)
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
