package encode

import (
	"encoding/binary"
	"errors"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"

	"github.com/cespare/xxhash/v2"
)

// piece is rows of a region that follow one another, and what they are for its files: it is taken apart in any goroutine. It
// belongs to one goroutine at a time.
type piece struct {
	open   func() (*extsort.Merge, error) // merges the rows, or
	buffer *pieceBuffer                   // they are here
	done   chan struct{}

	sinks   []*Sink
	sampled bool // keys and sums are asked for
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

// takeApart makes the rows of the files.
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

// merged takes rows as they are merged.
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

// copied takes rows that were copied with their headers, as [extsort.Merge.Record] gives them.
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

// errRecords is of rows that are not in a buffer as they were copied into it.
var errRecords = errors.New("rows were not copied as they are")

// add takes one row: its key, its payload, and both as the digest has them.
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

// Helped reports whether rows of one region can be encoded by several workers:
// not with times of their own, nor joined of several records, nor with settings
// that are encoded cell by cell.
func Helped(p *cells.Plan) bool {
	if p.CellByCell() {
		return false
	}
	for _, f := range p.Families {
		if f.Bloom == hfile.BloomRowCol || f.Encoding != hfile.EncodingFastDiff && f.Encoding != hfile.EncodingNone {
			return false
		}
	}
	return true
}
