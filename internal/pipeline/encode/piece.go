package encode

import (
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
