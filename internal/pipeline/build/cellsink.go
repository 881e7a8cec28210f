package build

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
)

// cellSink is the HFile of one family while rows are written to it: by
// templates if all cells have one time, else cell by cell.
type cellSink struct {
	plan   *cells.Plan
	family cells.FamilySpan
	hfile  interface{ Finish() (hfile.Stats, error) }
	row    *hfile.RowWriter
	cell   *hfile.Writer
	name   []byte
	quals  [][]byte
	rows   int64 // that have a cell in the family
}

func newSink(p *cells.Plan, f cells.FamilySpan, out io.Writer) (*cellSink, error) {
	s := &cellSink{plan: p, family: f, name: []byte(f.Name), quals: p.Qualifiers(f)}
	var err error
	if p.CellByCell() {
		s.cell, err = hfile.NewWriter(out, p.HFileOptions(f.Family))
		s.hfile = s.cell
	} else {
		s.row, err = hfile.NewRowWriter(out, p.HFileOptions(f.Family), hfile.Schema{Qualifiers: s.quals, Timestamp: p.Timestamp})
		s.hfile = s.row
	}
	return s, err
}

// newSinks makes one for each family.
func newSinks(p *cells.Plan, out func(family int) io.Writer) ([]*cellSink, error) {
	var sinks []*cellSink
	for i, f := range p.Families {
		s, err := newSink(p, f, out(i))
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, s)
	}
	return sinks, nil
}

// resets reports whether another file can follow, and reset begins it.
func (s *cellSink) resets() bool { return s.row != nil }
func (s *cellSink) reset(out io.Writer) {
	s.row.Reset(out)
	s.rows = 0
}

// share has helpers encode rows of the file, if they can.
func (s *cellSink) share(h *helpers) {
	if s.row != nil {
		s.row.Share(h)
	}
}

// finish ends the file.
func (s *cellSink) finish() (hfile.Stats, error) { return s.hfile.Finish() }

// append adds the family's cells of a row; values are those of all slots.
func (s *cellSink) append(key []byte, values [][]byte, at *cells.RowTime) error {
	values = values[s.family.From:s.family.To]
	if !hasCell(values) {
		return nil
	}
	s.rows++
	if s.row != nil {
		return s.row.AppendRow(key, values)
	}
	c := hfile.Cell{Row: key, Family: s.name, Timestamp: at.Stamp, Type: hfile.Put, Tags: at.Tags}
	for i, v := range values {
		if v == nil {
			continue
		}
		c.Qualifier, c.Value = s.quals[i], v
		if err := s.cell.Append(&c); err != nil {
			return err
		}
	}
	return nil
}

func hasCell(values [][]byte) bool {
	for _, v := range values {
		if v != nil {
			return true
		}
	}
	return false
}

// regionPart is what one region adds to the job's totals.
type regionPart struct {
	digest  manifest.Digest
	sum     manifest.RowSum         // of packed rows
	decoder func() cells.RowDecoder // of packed rows
	dups    int64                   // cells left out of rows of several records
	times   *manifest.CellTimes     // nil where the job's time is every cell's
	sampler

	joined  int64 // records of wide rows that are not the first of their row
	noCells int64 // rows that have none

	merged func(rows int64) // notified of rows now and then
	taken  int64            // that were reported

	reported int64 // of the merge under way
}

// newRegionPart remembers so many rows, and calls merged with further rows now and then.
func newRegionPart(samples int, merged func(rows int64), decoder func() cells.RowDecoder) regionPart {
	return regionPart{sampler: sampler{most: samples}, merged: merged, decoder: decoder}
}

// samples are the rows that are remembered.
func (p *regionPart) samples() []manifest.Sample { return p.sampler.rows }

// ReportEvery is how many rows pass between two looks at what else there is: a power of two.
const ReportEvery = 1 << 12

// tell is called with the count of rows of a merge before each is merged.
func (p *regionPart) tell(ctx context.Context, n int) error {
	if n%ReportEvery != 0 {
		return nil
	}
	p.report(int64(n))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// report says that so many rows of the merge under way are merged.
func (p *regionPart) report(n int64) {
	p.add(n - p.reported)
	p.reported = n
}

// end is report of all rows of a merge, which has ended.
func (p *regionPart) end(n int64) {
	p.report(n)
	p.reported = 0
}

// add says that so many more rows are merged.
func (p *regionPart) add(n int64) {
	if p.merged != nil {
		p.merged(n)
	}
	p.taken += n
}

// encode appends the merged rows to the HFiles of their families: all of them, or until stop says so, which is asked now and then. It
// gives true if there may be more.
func (p *regionPart) encode(ctx context.Context, m *extsort.Merge, plan *cells.Plan, sinks []*cellSink, stop func() bool) (more bool, err error) {
	if plan.Joins() {
		return false, p.encodeWide(ctx, m, plan, sinks)
	}
	if plan.Packed != nil {
		return false, p.encodePacked(ctx, m, plan, sinks)
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
		if err := p.tell(ctx, n); err != nil {
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
			p.noCells++
			continue
		}
		row := m.Row()
		if plan.Timed() {
			at.Read(plan, values)
			p.times = p.times.Join(&manifest.CellTimes{Min: at.Stamp, Max: at.Stamp, Expires: at.Expires})
			if plan.Expires() { // which servers do not give
				row = form.Append(m.Key(), values[:len(values)-1])
			}
		}
		p.digest.AddRow(row, cells)
		p.sampler.add(m.Key(), row, &at)
		for _, s := range sinks {
			if err := s.append(m.Key(), values, &at); err != nil {
				return false, sinkError(err)
			}
		}
	}
	p.end(int64(n))
	return false, m.Err()
}

// sinkError distinguishes a failed write from rows that no HFile can hold.
func sinkError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, hfile.ErrOrder) || errors.Is(err, hfile.ErrTooLarge) {
		return err
	}
	return fail.With(fail.HDFS, err)
}

// encodePacked is encode for packed rows.
func (p *regionPart) encodePacked(ctx context.Context, m *extsort.Merge, plan *cells.Plan, sinks []*cellSink) error {
	rows := p.decoder()
	last := -1 // family of the cell before in the row
	add := func(family int, c *hfile.Cell) error {
		if family >= len(sinks) {
			return fmt.Errorf("%w: a cell of family %d", extsort.ErrCorrupt, family)
		}
		s := sinks[family]
		if family != last {
			last = family
			s.rows++
		}
		c.Row, c.Family = m.Key(), s.name
		return sinkError(s.cell.Append(c))
	}
	n := 0
	for ; m.Next(); n++ {
		if err := p.tell(ctx, n); err != nil {
			return err
		}
		if len(m.Payload()) == 0 {
			p.noCells++
			continue
		}
		last = -1
		if err := rows.Row(m.Payload(), add); err != nil {
			return err
		}
	}
	p.end(int64(n))
	p.sum, p.times = rows.Total()
	p.digest = p.sum.Digest()
	return m.Err()
}

// writerRoom is what a worker of pass 2 needs besides the sort: an HFile's
// blocks, index, bloom chunk and output buffers.
const writerRoom = 5 << 20

// WriterRoom is what a worker of pass 2 needs for the plan's families.
func WriterRoom(p *cells.Plan) int64 {
	room := int64(len(p.Families)) * writerRoom
	if p.Joins() {
		room += maxWideRow
	}
	return room
}
