package parquet

import (
	"errors"
	"math"
)

// arena holds the data of Parquet batches: for each column a region for its page and one for its dictionary, and after
// these regions the text of those values of the current batch that are not stored as text. Strings are never copied,
// because pages are unpacked to where their values are used.
type arena struct {
	buf     []byte
	regions []region
	total   int    // bytes of all regions
	base    int    // the end of the regions; -1: they must be moved
	all     *int64 // the total of all arenas of a reader; nil: this is the only one
}

type region struct{ off, size int }

// slack is the number of bytes after the regions, so that a word can be loaded from any byte of a region.
const slack = 8

// maxArena is the largest end of a span. The next offset stands for NULL.
const maxArena = math.MaxUint32 - 1

var errArena = errors.New("the pages of its columns are larger than 4 GiB together")

// want requests at least the given size for a region. The next call of reserve provides it.
func (a *arena) want(i, size int) {
	for len(a.regions) <= i {
		a.regions = append(a.regions, region{})
		a.base = -1
	}
	if a.regions[i].size < size {
		if a.all != nil {
			*a.all += int64(size - a.regions[i].size)
		}
		a.total += size - a.regions[i].size
		a.regions[i].size = size
		a.base = -1
	}
}

// reserve gives a region at least the given size. It fails if all regions of the reader would exceed the memory limit.
func (p *pageReader) reserve(i, size int) error {
	total := int64(p.arena.total)
	if p.arena.all != nil {
		total = *p.arena.all
	}
	if more := int64(size - p.arena.regions[i].size); more > 0 && total+more > p.limit.Bytes {
		return p.limit.Exceeded("the page with those of other columns", total+more, p.limit.Bytes)
	}
	return p.arena.reserve(i, size)
}

// reserve gives a region at least the given size. It keeps the contents of all regions, but may move them: existing
// slices then refer to the old copy.
func (a *arena) reserve(i, size int) error {
	a.want(i, size)
	if a.base >= 0 {
		return nil
	}
	if a.total > maxArena-1<<28 {
		return errArena
	}
	buf := make([]byte, a.total+slack, a.total+slack+a.total/8)
	off := 0
	for j := range a.regions {
		r := &a.regions[j]
		copy(buf[off:off+r.size], a.buf[min(r.off, len(a.buf)):])
		r.off = off
		off += r.size
	}
	a.buf, a.base = buf, off
	return nil
}

// reset drops the text of the previous batch.
func (a *arena) reset() {
	a.buf = a.buf[:a.base+slack]
}
