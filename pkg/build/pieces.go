package build

import (
	"context"
	"errors"

	"bulkload/pkg/fail"
	"bulkload/pkg/partition/extsort"
)

// pieceBytes is about how many bytes of rows a piece has.
const pieceBytes = 512 << 10

// pieceWriter writes a region piece by piece. Workers that have no region take pieces apart ahead of it: it appends them in
// the order of keys, so the files are the same however many workers there are.
type pieceWriter struct {
	helpers *helpers
	plan    *Plan
	part    *regionPart
	sinks   []*cellSink
	ahead   []*piece // that others may be taking apart, in order
	spare   []*piece
	buffers []*pieceBuffer // that are free
	dups    int64          // rows that were left out
}

// pieces are the rows of a region in the order of keys. They belong to the goroutine that writes it.
type pieces interface {
	// next has p hold the next rows; false at the end.
	next(r *pieceWriter, p *piece) (bool, error)
	// encode appends rows at once, some or all; false at the end. Nobody helps.
	encode(ctx context.Context, r *pieceWriter) (bool, error)
	// end is called when all rows are appended.
	end(r *pieceWriter) error
}

// encodeRows appends the rows of a region to its files, and gives the number of those that were left out.
func (w *writers) encodeRows(ctx context.Context, r region, part *regionPart, sinks []*cellSink) (dups int64, err error) {
	rows := &pieceWriter{helpers: w.helpers, plan: w.plan, part: part, sinks: sinks}
	helped := w.helpers != nil && w.plan.Helped()
	if helped {
		if ranges := w.ranges(r); ranges != nil {
			err := rows.run(ctx, ranges)
			return rows.dups, w.named(err)
		}
	}
	m, finish, err := w.sort.Region(w.from + r.i)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	if helped {
		err = rows.run(ctx, mergedPieces{m})
	} else {
		_, err = part.encode(ctx, m, w.plan, sinks, nil)
	}
	if err != nil {
		return 0, w.named(readChunks(err))
	}
	return m.Duplicates(), finish(part)
}

// run writes all pieces.
func (r *pieceWriter) run(ctx context.Context, rows pieces) error {
	for more := true; more || len(r.ahead) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.helpers.Count() == 0 {
			var err error
			if more, err = rows.encode(ctx, r); err != nil {
				return err
			}
			continue
		}
		for more && len(r.ahead) <= 2*r.helpers.Count() {
			p := r.piece()
			var err error
			if more, err = rows.next(r, p); err != nil {
				return err
			}
			if !more {
				r.spare = append(r.spare, p)
				break
			}
			r.ahead = append(r.ahead, p)
			if !r.helpers.Do(p.takeApart) {
				p.takeApart()
				break
			}
		}
		if len(r.ahead) == 0 {
			break
		}
		p := r.ahead[0]
		r.helpers.Wait(p.done)
		r.ahead = append(r.ahead[:0], r.ahead[1:]...)
		if err := r.append(p); err != nil {
			return err
		}
	}
	return rows.end(r)
}

// append appends the rows of a piece.
func (r *pieceWriter) append(p *piece) error {
	if p.err != nil {
		return p.err
	}
	r.dups += p.dups
	r.part.digest.Add(p.digest)
	r.part.noCells += p.noCells
	r.part.sampler.addAll(p.keys, p.sums)
	for i, s := range r.sinks {
		rows := p.rows[i]
		p.rows[i] = nil
		if b := p.buffer; b != nil {
			b.uses++
			rows.WhenDone(func() { r.release(b) })
		}
		s.rows += int64(rows.Len())
		if err := s.row.AppendRows(rows); err != nil {
			return sinkError(err)
		}
	}
	if p.buffer != nil {
		r.release(p.buffer)
		p.buffer = nil
	}
	r.part.add(p.records)
	r.spare = append(r.spare, p)
	return nil
}

// piece gives one that is free.
func (r *pieceWriter) piece() *piece {
	if n := len(r.spare); n > 0 {
		p := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return p
	}
	return newPiece(r.plan, r.sinks, r.part.most > 0)
}

// pieceBuffer is memory of rows that were copied. It is used until no file needs them any more.
type pieceBuffer struct {
	records []byte
	uses    int
}

// buffer gives one that is free, used once.
func (r *pieceWriter) buffer() *pieceBuffer {
	b := &pieceBuffer{}
	if n := len(r.buffers); n > 0 {
		b, r.buffers = r.buffers[n-1], r.buffers[:n-1]
	}
	b.records, b.uses = b.records[:0], 1
	return b
}

func (r *pieceWriter) release(b *pieceBuffer) {
	if b.uses--; b.uses == 0 {
		r.buffers = append(r.buffers, b)
	}
}

// rangedRows are [sortedRows] of which ranges of a region can be merged by themselves.
type rangedRows interface {
	// Ranges are those of a region, of about that many rows each; nil if they cannot be.
	Ranges(region, rows int) []extsort.Range
	// MergeRange merges one; what it shows stays valid while the rows are written.
	MergeRange(region int, r extsort.Range) (*extsort.Merge, error)
}

// rangePieces are ranges of rows in memory.
type rangePieces struct {
	sort   rangedRows
	region int // in the sort
	ranges []extsort.Range
	rows   int64 // of all of them
}

// ranges cuts a region whose rows are in memory; nil means that they are not.
func (w *writers) ranges(r region) *rangePieces {
	sort, ok := w.sort.(rangedRows)
	if !ok || r.rows == 0 {
		return nil
	}
	p := &rangePieces{sort: sort, region: w.from + r.i}
	p.ranges = sort.Ranges(p.region, int(max(pieceBytes/(r.size/r.rows+1), 64)))
	for _, one := range p.ranges {
		p.rows += int64(one.Rows())
	}
	if p.rows == 0 {
		return nil
	}
	return p
}

func (p *rangePieces) take() (r extsort.Range, ok bool) {
	if len(p.ranges) == 0 {
		return r, false
	}
	r, p.ranges = p.ranges[0], p.ranges[1:]
	return r, true
}

func (p *rangePieces) next(_ *pieceWriter, to *piece) (bool, error) {
	r, ok := p.take()
	to.open = func() (*extsort.Merge, error) { return p.sort.MergeRange(p.region, r) }
	return ok, nil
}

func (p *rangePieces) encode(ctx context.Context, r *pieceWriter) (bool, error) {
	of, ok := p.take()
	if !ok {
		return false, nil
	}
	m, err := p.sort.MergeRange(p.region, of)
	if err != nil {
		return false, err
	}
	defer m.Close()
	_, err = r.part.encode(ctx, m, r.plan, r.sinks, nil)
	r.dups += m.Duplicates()
	return true, err
}

func (p *rangePieces) end(r *pieceWriter) error {
	if got := r.part.taken + r.dups; got != p.rows {
		return fail.Errorf(fail.Unexpected, "region %d: %d rows were merged of %d; nothing was loaded (this is a fault of bulkload or of this machine: report it)", p.region, got, p.rows)
	}
	return nil
}

// mergedPieces are rows that one goroutine merges, from disk or from other processes: it copies them.
type mergedPieces struct{ merge *extsort.Merge }

func (p mergedPieces) next(r *pieceWriter, to *piece) (bool, error) {
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

func (p mergedPieces) encode(ctx context.Context, r *pieceWriter) (bool, error) {
	return r.part.encode(ctx, p.merge, r.plan, r.sinks, func() bool { return r.helpers.Count() > 0 })
}

func (p mergedPieces) end(r *pieceWriter) error {
	r.dups = p.merge.Duplicates()
	return nil
}

// errRecords is of rows that do not lie in a buffer as they were copied into it.
var errRecords = errors.New("rows were not copied as they are")
