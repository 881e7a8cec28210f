package encode

import (
	"context"

	"bulkload/internal/model/fail"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// pieceBytes is the approximate number of bytes of rows in a piece.
const pieceBytes = 512 << 10

// rangedRows provides sorted rows that can be merged by ranges of a region.
type rangedRows interface {
	// Ranges returns ranges of a region with about the given number of rows each; nil if it cannot be cut.
	Ranges(region, rows int) []extsort.Range
	// MergeRange merges one range. Its rows stay valid while they are written.
	MergeRange(region int, r extsort.Range) (*extsort.Merge, error)
}

// rangePieces iterates over ranges of rows in memory.
type rangePieces struct {
	sort   rangedRows
	region int // in the sort
	ranges []extsort.Range
	rows   int64 // of all of them
}

// Ranges writes a region of the given number of rows and bytes, by its number in the sort, in ranges that the sort cuts, if all of its
// rows are in memory. done is false if they are not.
func (r *PieceWriter) Ranges(ctx context.Context, sort any, region int, rows, size int64) (done bool, err error) {
	ranged, ok := sort.(rangedRows)
	if !ok || rows == 0 {
		return false, nil
	}
	p := &rangePieces{sort: ranged, region: region}
	p.ranges = ranged.Ranges(region, int(max(pieceBytes/(size/rows+1), 64)))
	for _, one := range p.ranges {
		p.rows += int64(one.Rows())
	}
	if p.rows == 0 {
		return false, nil
	}
	return true, r.run(ctx, p)
}

func (p *rangePieces) nextRange() (r extsort.Range, ok bool) {
	if len(p.ranges) == 0 {
		return r, false
	}
	r, p.ranges = p.ranges[0], p.ranges[1:]
	return r, true
}

func (p *rangePieces) next(_ *PieceWriter, to *piece) (bool, error) {
	r, ok := p.nextRange()
	to.open = func() (*extsort.Merge, error) { return p.sort.MergeRange(p.region, r) }
	return ok, nil
}

func (p *rangePieces) encode(ctx context.Context, r *PieceWriter) (bool, error) {
	of, ok := p.nextRange()
	if !ok {
		return false, nil
	}
	m, err := p.sort.MergeRange(p.region, of)
	if err != nil {
		return false, err
	}
	defer m.Close()
	_, err = r.part.Encode(ctx, m, r.plan, r.sinks, nil)
	r.Dups += m.Duplicates()
	return true, err
}

func (p *rangePieces) end(r *PieceWriter) error {
	if got := r.part.Taken + r.Dups; got != p.rows {
		return fail.Errorf(fail.Unexpected, "region %d: %s merged of %d; nothing was loaded (a fault of bulkload or of this machine: report it)", p.region, setting.Count(got, "row was"), p.rows)
	}
	return nil
}

// mergedPieces iterates over rows that one goroutine merges, from disk or from other processes. It copies them.
type mergedPieces struct{ merge *extsort.Merge }

func (p mergedPieces) next(r *PieceWriter, to *piece) (bool, error) {
	b := r.buffer()
	for len(b.records) < pieceBytes && p.merge.Next() {
		b.records = append(b.records, p.merge.Record()...)
	}
	if err := p.merge.Err(); err != nil || len(b.records) == 0 {
		r.release(b)
		return false, err
	}
	to.buffer = b
	return true, nil
}

func (p mergedPieces) encode(ctx context.Context, r *PieceWriter) (bool, error) {
	return r.part.Encode(ctx, p.merge, r.plan, r.sinks, func() bool { return r.helpers.Count() > 0 })
}

func (p mergedPieces) end(r *PieceWriter) error {
	r.Dups = p.merge.Duplicates()
	return nil
}
