package encode

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"

	"github.com/cespare/xxhash/v2"
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

// piece is a sequence of rows of a region, decoded for its files. Any goroutine may decode it, but only one at a time may
// use it.
type piece struct {
	open   func() (*extsort.Merge, error) // returns a merge of the rows; used if buffer is nil
	buffer *pieceBuffer                   // copied rows
	done   chan struct{}

	sinks   []*Sink
	sampled bool // keys and sums are needed
	lengths []int32

	rows    []*hfile.Rows // of each family
	keys    [][]byte
	sums    []uint64
	digest  manifest.Digest
	records int64 // without those left out
	noCells int64
	dups    int64
	err     error
}

func newPiece(plan *cells.Plan, sinks []*Sink, sampled bool) *piece {
	return &piece{sinks: sinks, sampled: sampled, done: make(chan struct{}, 1), lengths: make([]int32, plan.NumValues()), rows: make([]*hfile.Rows, len(sinks))}
}

// takeApart decodes the rows for the files.
func (p *piece) takeApart() {
	p.keys, p.sums, p.digest, p.records, p.noCells, p.dups = p.keys[:0], p.sums[:0], manifest.Digest{}, 0, 0, 0
	for i, s := range p.sinks {
		if p.rows[i] == nil {
			p.rows[i] = s.row.NewRows()
		}
	}
	if p.buffer != nil {
		p.err = p.copied()
	} else {
		p.err = p.merged()
	}
	p.done <- struct{}{}
}

// merged adds rows while they are merged.
func (p *piece) merged() error {
	m, err := p.open()
	if err != nil {
		return err
	}
	defer m.Close()
	for m.Next() {
		if err := p.add(m.Key(), m.Payload(), m.Row()); err != nil {
			return err
		}
	}
	p.dups = m.Duplicates()
	return m.Err()
}

// copied adds rows that were copied with their headers, in the form of [extsort.Merge.Record].
func (p *piece) copied() error {
	const header = extsort.RecordHeader
	for b := p.buffer.records; len(b) > 0; {
		if len(b) < header {
			return fail.With(fail.Unexpected, errRecords)
		}
		n, key := header+int(binary.LittleEndian.Uint32(b[8:])), header+int(binary.LittleEndian.Uint16(b[12:]))
		if n > len(b) || key > n {
			return fail.With(fail.Unexpected, errRecords)
		}
		if err := p.add(b[header:key], b[key:n], b[12:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// errRecords reports that the rows of a buffer are not as they were copied.
var errRecords = errors.New("rows were not copied as they are")

// add adds one row: its key, its payload, and both in the form of the digest.
func (p *piece) add(key, payload, row []byte) error {
	p.records++
	values, cells, err := extsort.Lengths(payload, p.lengths)
	if err != nil {
		return err
	}
	if cells == 0 {
		p.noCells++
		return nil
	}
	sum := xxhash.Sum64(row)
	p.digest.AddSum(sum, cells)
	if p.sampled {
		p.keys, p.sums = append(p.keys, key), append(p.sums, sum)
	}
	for i, s := range p.sinks {
		size, has := 0, false
		lengths := p.lengths[s.family.From:s.family.To]
		for _, l := range lengths {
			if l >= 0 {
				size += int(l)
				has = true
			}
		}
		if has {
			p.rows[i].Add(key, lengths, values[:size])
		}
		values = values[size:]
	}
	return nil
}

// Helped reports whether several workers can encode rows of one region. They
// cannot if rows have times of their own or are joined from several records, or
// if a family's settings require encoding cell by cell.
func Helped(p *cells.Plan) bool {
	return !p.CellByCell() && !slices.ContainsFunc(p.Families, func(f cells.FamilySpan) bool {
		return f.Bloom == hfile.BloomRowCol || f.Encoding != hfile.EncodingFastDiff && f.Encoding != hfile.EncodingNone
	})
}
