package encode

import (
	"context"

	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/partition/extsort"
)

// PieceWriter writes a region in pieces. Workers without a region decode pieces ahead of it. It appends them in the order
// of keys, so the files do not depend on the number of workers.
type PieceWriter struct {
	helpers *Idle
	plan    *cells.Plan
	part    *Region
	sinks   []*Sink
	ahead   []*piece // that others may be decoding, in order
	spare   []*piece
	buffers []*pieceBuffer // that are free
	Dups    int64          // rows that were left out
}

// pieces iterates over the rows of a region in the order of keys. It belongs to the goroutine that writes the region.
type pieces interface {
	// next puts the next rows into p. It returns false at the end.
	next(r *PieceWriter, p *piece) (bool, error)
	// encode appends rows directly, some or all. It returns false at the end. It uses no helpers.
	encode(ctx context.Context, r *PieceWriter) (bool, error)
	// end is called when all rows are appended.
	end(r *PieceWriter) error
}

// NewPieceWriter returns a writer of a region into sinks. It records the totals of the rows in part.
func NewPieceWriter(h *Idle, plan *cells.Plan, part *Region, sinks []*Sink) *PieceWriter {
	return &PieceWriter{helpers: h, plan: plan, part: part, sinks: sinks}
}

// Merge writes the rows of a merge.
func (r *PieceWriter) Merge(ctx context.Context, m *extsort.Merge) error {
	return r.run(ctx, mergedPieces{m})
}

// run writes all pieces.
func (r *PieceWriter) run(ctx context.Context, rows pieces) error {
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
func (r *PieceWriter) append(p *piece) error {
	if p.err != nil {
		return p.err
	}
	r.Dups += p.dups
	r.part.Digest.Add(p.digest)
	r.part.NoCells += p.noCells
	r.part.sampler.addAll(p.keys, p.sums)
	for i, s := range r.sinks {
		rows := p.rows[i]
		p.rows[i] = nil
		if b := p.buffer; b != nil {
			b.uses++
			rows.WhenDone(func() { r.release(b) })
		}
		s.Rows += int64(rows.Len())
		if err := s.row.AppendRows(rows); err != nil {
			return WriteError(err)
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

// piece returns a free piece.
func (r *PieceWriter) piece() *piece {
	if n := len(r.spare); n > 0 {
		p := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return p
	}
	return newPiece(r.plan, r.sinks, r.part.most > 0)
}

// pieceBuffer holds copied rows. It is in use until no file needs them.
type pieceBuffer struct {
	records []byte
	uses    int
}

// buffer returns a free buffer with one use.
func (r *PieceWriter) buffer() *pieceBuffer {
	b := &pieceBuffer{}
	if n := len(r.buffers); n > 0 {
		b, r.buffers = r.buffers[n-1], r.buffers[:n-1]
	}
	b.records, b.uses = b.records[:0], 1
	return b
}

func (r *PieceWriter) release(b *pieceBuffer) {
	if b.uses--; b.uses == 0 {
		r.buffers = append(r.buffers, b)
	}
}
