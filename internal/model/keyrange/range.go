package keyrange

import (
	"bytes"
	"errors"
	"slices"
)

// A Range holds the rows from Start (inclusive) to Stop (exclusive). An empty bound
// stands for the beginning or the end of the table.
type Range struct{ Start, Stop []byte }

// Intersect returns the rows that are in both ranges, and false if there cannot be any.
func (r Range) Intersect(o Range) (Range, bool) {
	both := r
	if bytes.Compare(o.Start, both.Start) > 0 {
		both.Start = o.Start
	}
	if len(both.Stop) == 0 || len(o.Stop) > 0 && bytes.Compare(o.Stop, both.Stop) < 0 {
		both.Stop = o.Stop
	}
	return both, len(both.Stop) == 0 || bytes.Compare(both.Start, both.Stop) < 0
}

// Has reports whether a row is in the range.
func (r Range) Has(row []byte) bool {
	return bytes.Compare(row, r.Start) >= 0 && (len(r.Stop) == 0 || bytes.Compare(row, r.Stop) < 0)
}

// Within returns the parts of ranges that are within r. If there are no ranges, that is r, because no ranges mean all rows.
func Within(ranges []Range, r Range) (parts []Range) {
	if len(ranges) == 0 {
		return []Range{r}
	}
	for _, x := range ranges {
		if both, ok := x.Intersect(r); ok {
			parts = append(parts, both)
		}
	}
	return parts
}

// Check refuses ranges that overlap, are empty, or are out of order.
func Check(ranges []Range) error {
	for i, x := range ranges {
		if i > 0 && (len(ranges[i-1].Stop) == 0 || bytes.Compare(ranges[i-1].Stop, x.Start) > 0) || len(x.Stop) > 0 && bytes.Compare(x.Start, x.Stop) >= 0 {
			return errors.New("the ranges of rows overlap, or are not in order")
		}
	}
	return nil
}

// Ranges returns the ranges of the heads, in order; adjacent ranges are joined.
func (r Rows) Ranges() (ranges []Range) {
	for _, head := range r.Heads {
		x := Range{r.Start(head), r.Stop(head)}
		if n := len(ranges); n > 0 && len(ranges[n-1].Stop) > 0 && bytes.Equal(ranges[n-1].Stop, x.Start) {
			ranges[n-1].Stop = x.Stop
			continue
		}
		ranges = append(ranges, x)
	}
	return slices.Clip(ranges)
}
