package encode

import (
	"errors"
	"io"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hfile"
)

// Sink is the HFile of one family while rows are written to it: by templates if
// all cells have one time, else cell by cell.
type Sink struct {
	family cells.FamilySpan
	hfile  interface{ Finish() (hfile.Stats, error) }
	row    *hfile.RowWriter
	cell   *hfile.Writer
	name   []byte
	quals  [][]byte
	Rows   int64 // rows that have a cell in the family
}

func newSink(p *cells.Plan, f cells.FamilySpan, index int64, out io.Writer) (*Sink, error) {
	o := f.Family.HFileOptions(p.Timestamp)
	o.IndexMemory = index
	s := &Sink{family: f, name: []byte(f.Name), quals: p.Qualifiers(f)}
	var err error
	if p.CellByCell() {
		s.cell, err = hfile.NewWriter(out, o)
		s.hfile = s.cell
	} else {
		s.row, err = hfile.NewRowWriter(out, o, hfile.Schema{Qualifiers: s.quals, Timestamp: p.Timestamp})
		s.hfile = s.row
	}
	return s, err
}

// NewSinks returns a sink for each family. Their indexes may together take the given number of bytes, 0 for any number.
func NewSinks(p *cells.Plan, index int64, out func(family int) io.Writer) ([]*Sink, error) {
	var sinks []*Sink
	for i, f := range p.Families {
		s, err := newSink(p, f, index/int64(len(p.Families)), out(i))
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, s)
	}
	return sinks, nil
}

// Resets reports whether the sink can be reused for another file, which Reset begins.
func (s *Sink) Resets() bool { return s.row != nil }
func (s *Sink) Reset(out io.Writer) {
	s.row.Reset(out)
	s.Rows = 0
}

// Share lets helpers encode rows of the file, if the file supports it.
func (s *Sink) Share(h *Idle) {
	if s.row != nil {
		s.row.Share(h)
	}
}

// Finish ends the file.
func (s *Sink) Finish() (hfile.Stats, error) { return s.hfile.Finish() }

// append appends the family's cells of a row; values are the values of all slots.
func (s *Sink) append(key []byte, values [][]byte, at *cells.RowTime) error {
	values = values[s.family.From:s.family.To]
	if !hasCell(values) {
		return nil
	}
	s.Rows++
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

// WriteError distinguishes a failed write from rows that an HFile cannot hold.
func WriteError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, hfile.ErrOrder) || errors.Is(err, hfile.ErrTooLarge) || errors.Is(err, hfile.ErrIndexMemory) {
		return err
	}
	return fail.With(fail.HDFS, err)
}

// writerRoom is the memory that a worker of pass 2 needs for a family besides
// the sort: an HFile's blocks, index, bloom chunk and output buffers. An index that takes more has long keys, and a limit of its own.
const writerRoom = 5 << 20

// WriterRoom returns the memory that a worker of pass 2, which writes one region at a time, needs for the families of any of the plans.
func WriterRoom(plans ...*cells.Plan) (most int64) {
	for _, p := range plans {
		room := int64(len(p.Families)) * writerRoom
		if p.Joins() {
			room += maxWideRow
		}
		most = max(most, room)
	}
	return most
}
