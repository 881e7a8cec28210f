package job

import (
	"context"
	"errors"
	"io"

	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
)

// cellSink is the HFile of one family while rows are written to it.
type cellSink struct {
	family familySpan
	hfile  *hfile.RowWriter
	rows   int64 // that have a cell in the family
}

func (p *Plan) newSink(f familySpan, out io.Writer) (*cellSink, error) {
	w, err := hfile.NewRowWriter(out, p.hfileOptions(f.Family), hfile.Schema{Qualifiers: p.qualifiers(f), Timestamp: p.Timestamp})
	return &cellSink{family: f, hfile: w}, err
}

// newSinks makes one for each family.
func (p *Plan) newSinks(out func(family int) io.Writer) ([]*cellSink, error) {
	var sinks []*cellSink
	for i, f := range p.Families {
		s, err := p.newSink(f, out(i))
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, s)
	}
	return sinks, nil
}

// append adds the family's cells of a row; values are those of all slots.
func (s *cellSink) append(key []byte, values [][]byte) error {
	values = values[s.family.from:s.family.to]
	if !hasCell(values) {
		return nil
	}
	s.rows++
	return s.hfile.AppendRow(key, values)
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
	digest Digest
	sampler
}

// encode appends the merged rows to the HFiles of their families.
func (p *regionPart) encode(ctx context.Context, m *extsort.Merge, plan *Plan, sinks []*cellSink) error {
	values := make([][]byte, len(plan.slots))
	for n := 0; m.Next(); n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := extsort.Values(m.Payload(), values); err != nil {
			return err
		}
		cells := 0
		for _, v := range values {
			if v != nil {
				cells++
			}
		}
		if cells == 0 {
			continue
		}
		p.digest.addRow(m.Row(), cells)
		p.sampler.add(m)
		for _, s := range sinks {
			if err := s.append(m.Key(), values); err != nil {
				return sinkError(err)
			}
		}
	}
	return m.Err()
}

// sinkError tells a failed write from rows that no HFile can hold.
func sinkError(err error) error {
	if errors.Is(err, hfile.ErrOrder) || errors.Is(err, hfile.ErrTooLarge) {
		return err
	}
	return fail(KindHDFS, err)
}
