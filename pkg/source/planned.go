package source

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// RecordsOf returns the number of records in the splits from one on and before another, as far as they were read to their end.
func (in *Input) RecordsOf(from, to int) int64 {
	var n int64
	for i := range in.counts[from:to] {
		n += max(0, in.counts[from+i].Load())
	}
	return n
}

// planned adopts splits that an earlier [Open] of the same files has found. It rejects splits that cannot belong to these files; the caller
// has compared the files otherwise.
func (in *Input) planned(ctx context.Context, splits []Split) error {
	next := 0
	for i, f := range in.files {
		f.firstSplit = next
		before := int64(0)
		groups, err := in.groups(ctx, f)
		if err != nil {
			return err
		}
		for ; next < len(splits) && splits[next].File == i; next++ {
			s := splits[next]
			end := f.textEnd()
			switch {
			case f.facts.Rows:
				if !hasGroup(groups, s) {
					return fmt.Errorf("%s has no rows %d to %d in a row group %d: the splits are those of another file", f.Path, s.Start, s.End, s.RowGroup)
				}
				continue
			case f.sequential():
				end = math.MaxInt64
			}
			if s.Start < before || s.End <= s.Start || s.End > end {
				return fmt.Errorf("%s has no bytes %d to %d: the splits are those of another file", f.Path, s.Start, s.End)
			}
			before = s.End
		}
	}
	if next != len(splits) {
		return fmt.Errorf("a split is of file %d of %d: the splits are those of other inputs", splits[next].File+1, len(in.files))
	}
	in.splits = splits
	for i := range splits {
		in.splits[i].Path = in.files[splits[i].File].Path
	}
	return nil
}

// groups returns the row groups of a file, in their order.
func (in *Input) groups(ctx context.Context, f *inputFile) (groups []Split, err error) {
	if f.facts.Rows {
		err = f.content.splits(ctx, &in.opts, func(start, end int64, group int) {
			groups = append(groups, Split{Start: start, End: end, RowGroup: group})
		})
	}
	return groups, err
}

// hasGroup reports whether a split is one of the groups.
func hasGroup(groups []Split, s Split) bool {
	at, ok := slices.BinarySearchFunc(groups, s.RowGroup, func(g Split, n int) int { return cmp.Compare(g.RowGroup, n) })
	return ok && groups[at].Start == s.Start && groups[at].End == s.End
}
