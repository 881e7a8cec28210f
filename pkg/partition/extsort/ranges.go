package extsort

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"sort"
)

// A Range holds consecutive rows of one region, including all rows of each key in it.
type Range struct{ spans []span }

// span is entries of one arena.
type span struct {
	arena   *arena
	entries []entry
}

// samplesOfRange is the number of sampled rows per range.
const samplesOfRange = 8

// Ranges cuts a region into ranges of about n rows each, in key order, so that several goroutines can merge it. It returns nil
// for a region without rows, and if rows are on disk, where ranges cannot be addressed.
func (s *Sorter) Ranges(region, n int) []Range {
	if !s.done || len(s.runs) > 0 {
		return nil
	}
	var whole Range
	rows := 0
	for _, w := range s.writers {
		if e := s.regionEntries(w.arena, region); len(e) > 0 {
			whole.spans = append(whole.spans, span{w.arena, e})
			rows += len(e)
		}
	}
	if rows == 0 {
		return nil
	}
	// The bounds are rows of a sorted sample of all arenas.
	var sample []bound
	for i := range whole.spans {
		sp := &whole.spans[i]
		for at := 0; at < len(sp.entries); at += max(n/samplesOfRange, 1) {
			sample = append(sample, bound{sp, sp.entries[at]})
		}
	}
	slices.SortFunc(sample, bound.compare)
	var ranges []Range
	rest := whole
	for i := samplesOfRange; i < len(sample); i += samplesOfRange {
		var r Range
		if r, rest = rest.cut(sample[i]); len(r.spans) > 0 {
			ranges = append(ranges, r)
		}
	}
	if len(rest.spans) > 0 {
		ranges = append(ranges, rest)
	}
	return ranges
}

// bound is the first row of a range.
type bound struct {
	of    *span
	entry entry
}

func (b bound) compare(o bound) int {
	if c := cmp.Compare(b.entry.sort, o.entry.sort); c != 0 {
		return c
	}
	return bytes.Compare(b.of.arena.key(b.entry.pos()), o.of.arena.key(o.entry.pos()))
}

// cut returns the rows before the key of a bound, and the other rows.
func (r Range) cut(at bound) (before, rest Range) {
	for i := range r.spans {
		sp := &r.spans[i]
		n := sort.Search(len(sp.entries), func(i int) bool { return bound{sp, sp.entries[i]}.compare(at) >= 0 })
		if n > 0 {
			before.spans = append(before.spans, span{sp.arena, sp.entries[:n]})
		}
		if n < len(sp.entries) {
			rest.spans = append(rest.spans, span{sp.arena, sp.entries[n:]})
		}
	}
	return before, rest
}

// Rows returns the number of rows in the range, including duplicates.
func (r Range) Rows() (n int) {
	for _, s := range r.spans {
		n += len(s.entries)
	}
	return n
}

// MergeRange is [Sorter.Region] for one range. Different ranges may be merged concurrently. Keys and payloads of the merge stay
// valid until the sort is closed.
func (s *Sorter) MergeRange(region int, r Range) (*Merge, error) {
	if len(s.runs) > 0 {
		return nil, errors.New("a range of rows in memory is read when they are on disk")
	}
	cursors := make([]cursor, 0, len(r.spans))
	for _, sp := range r.spans {
		cursors = append(cursors, cursor{arena: sp.arena, entries: sp.entries})
	}
	policy := s.policy(region)
	return s.mergeCursors(region, cursors, policy, policy == KeepAll)
}
