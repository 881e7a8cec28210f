package encode

import (
	"bytes"
	"context"
	"fmt"

	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"

	"github.com/cespare/xxhash/v2"
)

// Region holds the totals of one region.
type Region struct {
	Digest  manifest.Digest
	Sum     manifest.RowSum         // of packed rows
	decoder func() cells.RowDecoder // of packed rows
	Dups    int64                   // cells left out of rows with several records
	Times   *manifest.CellTimes     // nil if all cells have the job's time
	sampler

	Joined  int64 // records of wide rows that are not the first of their row
	NoCells int64 // rows without cells

	merged func(rows int64) // called with additional rows from time to time
	Taken  int64            // rows reported

	reported int64 // of the current merge
}

// NewRegion returns a Region that samples the given number of rows. It calls merged with the number of additional rows from time to time.
func NewRegion(samples int, merged func(rows int64), decoder func() cells.RowDecoder) Region {
	return Region{sampler: sampler{most: samples}, merged: merged, decoder: decoder}
}

// Samples returns the sampled rows.
func (p *Region) Samples() []manifest.Sample { return p.sampler.rows }

// ReportEvery is the number of rows between progress reports and checks for cancellation: a power of two.
const ReportEvery = 1 << 12

// advance is called with the number of rows before each row of a merge. It reports progress and checks for cancellation.
func (p *Region) advance(ctx context.Context, n int) error {
	if n%ReportEvery != 0 {
		return nil
	}
	p.report(int64(n))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// report reports that n rows of the current merge are merged.
func (p *Region) report(n int64) {
	p.add(n - p.reported)
	p.reported = n
}

// end reports all n rows of a merge that has ended.
func (p *Region) end(n int64) {
	p.report(n)
	p.reported = 0
}

// add reports n more merged rows.
func (p *Region) add(n int64) {
	if p.merged != nil {
		p.merged(n)
	}
	p.Taken += n
}

// Encode appends the merged rows to the HFiles of their families, until the end or until stop, which is called from time to time,
// returns true. It returns true if there may be more rows.
func (p *Region) Encode(ctx context.Context, m *extsort.Merge, plan *cells.Plan, sinks []*Sink, stop func() bool) (more bool, err error) {
	if plan.Joins() {
		return false, p.encodeWide(ctx, m, plan, sinks)
	}
	if plan.Packed != nil {
		return false, p.encodePacked(ctx, m, sinks)
	}
	values := make([][]byte, plan.NumValues())
	slots := values[:len(plan.Slots)]
	var at cells.RowTime
	var form cells.RowForm
	n := 0
	for ; ; n++ {
		if stop != nil && n > 0 && n%ReportEvery == 0 && stop() {
			p.end(int64(n))
			return true, nil
		}
		if !m.Next() {
			break
		}
		if err := p.advance(ctx, n); err != nil {
			return false, err
		}
		if err := extsort.Values(m.Payload(), values); err != nil {
			return false, err
		}
		cells := 0
		for _, v := range slots {
			if v != nil {
				cells++
			}
		}
		if cells == 0 {
			p.NoCells++
			continue
		}
		row := m.Row()
		if plan.Timed() {
			at.Read(plan, values)
			p.Times = p.Times.Join(&manifest.CellTimes{Min: at.Stamp, Max: at.Stamp, Expires: at.Expires})
			if plan.Expires() { // servers do not return the TTL
				row = form.Append(m.Key(), values[:len(values)-1])
			}
		}
		p.Digest.AddRow(row, cells)
		p.sampler.add(m.Key(), row, &at)
		for _, s := range sinks {
			if err := s.append(m.Key(), values, &at); err != nil {
				return false, WriteError(err)
			}
		}
	}
	p.end(int64(n))
	return false, m.Err()
}

// encodePacked is Encode for packed rows.
func (p *Region) encodePacked(ctx context.Context, m *extsort.Merge, sinks []*Sink) error {
	rows := p.decoder()
	last := -1 // family of the previous cell in the row
	add := func(family int, c *hfile.Cell) error {
		if family >= len(sinks) {
			return fmt.Errorf("%w: a cell of family %d", extsort.ErrCorrupt, family)
		}
		s := sinks[family]
		if family != last {
			last = family
			s.Rows++
		}
		c.Row, c.Family = m.Key(), s.name
		return WriteError(s.cell.Append(c))
	}
	n := 0
	for ; m.Next(); n++ {
		if err := p.advance(ctx, n); err != nil {
			return err
		}
		if len(m.Payload()) == 0 {
			p.NoCells++
			continue
		}
		last = -1
		if err := rows.Row(m.Payload(), add); err != nil {
			return err
		}
	}
	p.end(int64(n))
	p.Sum, p.Times = rows.Total()
	p.Digest = p.Sum.Digest()
	return m.Err()
}

// sampleKeyBytes limits the total size of the sampled keys of a region.
const sampleKeyBytes = 64 << 10

// sampler keeps a few rows, spread over the whole region: every n-th, where n
// doubles whenever there are too many rows or their keys are too long.
type sampler struct {
	most  int
	step  int64
	seen  int64
	rows  []manifest.Sample
	bytes int // of their keys
}

func (s *sampler) add(key, row []byte, at *cells.RowTime) {
	if s.most == 0 {
		return
	}
	if s.due() == 0 {
		s.keep(key, xxhash.Sum64(row), at)
	}
	s.seen++
}

// addAll adds rows with the job's time and known sums.
func (s *sampler) addAll(keys [][]byte, sums []uint64) {
	for i := 0; s.most > 0 && i < len(keys); {
		n := int64(1)
		if due := s.due(); due > 0 {
			n = min(due, int64(len(keys)-i))
		} else {
			s.keep(keys[i], sums[i], &cells.RowTime{})
		}
		s.seen += n
		i += int(n)
	}
}

// due returns the number of rows before the next one that may be kept.
func (s *sampler) due() int64 {
	s.step = max(s.step, 1)
	if past := s.seen % s.step; past > 0 {
		return s.step - past
	}
	return 0
}

// keep keeps a row. If there are too many rows, it drops some, possibly this one.
func (s *sampler) keep(key []byte, sum uint64, at *cells.RowTime) {
	if len(s.rows) >= s.most {
		s.halve()
	}
	for s.bytes+len(key) > sampleKeyBytes && len(s.rows) > 1 {
		s.halve()
	}
	if s.seen%s.step == 0 {
		s.bytes += len(key)
		s.rows = append(s.rows, manifest.Sample{Key: bytes.Clone(key), Sum: sum, Stamp: at.Stamp, Expires: at.Expires})
	}
}

// halve drops every other row.
func (s *sampler) halve() {
	kept := s.rows[:0]
	s.bytes = 0
	for i, r := range s.rows {
		if i%2 == 0 {
			kept = append(kept, r)
			s.bytes += len(r.Key)
		}
	}
	clear(s.rows[len(kept):])
	s.rows = kept
	s.step *= 2
}
