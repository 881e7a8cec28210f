package compare

import (
	"bytes"
	"context"
	"slices"

	"bulkload/internal/model/keyrange"
)

// divide cuts all rows into ranges of about the given number of bytes of the larger side, at its region boundaries and at blocks of its files. A
// scanned side is cut at its region boundaries.
func divide(ctx context.Context, a, b *opened, most int64) (cuts [][]byte, err error) {
	larger := a
	if b.bytes() > a.bytes() {
		larger = b
	}
	if larger.snap == nil {
		return larger.scan.Starts[1:], nil
	}
	gathered := int64(0)
	for i := range larger.snap.Regions {
		r := &larger.snap.Regions[i]
		if gathered += r.Bytes; i > 0 && (gathered > most || r.Bytes > most/2) {
			cuts, gathered = append(cuts, r.Start), r.Bytes
		}
		if r.Bytes <= most {
			continue
		}
		rows, err := larger.snap.Cuts(ctx, i, int((r.Bytes+most-1)/most))
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, rows...)
		gathered = most
	}
	return cuts, nil
}

// within returns the ranges between cuts, intersected with in. An empty in is all rows.
func within(cuts [][]byte, in []keyrange.Range) (out []keyrange.Range) {
	if len(in) == 0 {
		in = []keyrange.Range{{}}
	}
	for _, r := range in {
		start := r.Start
		for _, cut := range cuts {
			if bytes.Compare(cut, start) <= 0 {
				continue
			}
			if len(r.Stop) > 0 && bytes.Compare(cut, r.Stop) >= 0 {
				break
			}
			out, start = append(out, keyrange.Range{Start: start, Stop: cut}), cut
		}
		out = append(out, keyrange.Range{Start: start, Stop: r.Stop})
	}
	return slices.Clip(out)
}
