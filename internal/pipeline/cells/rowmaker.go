package cells

import (
	"encoding/binary"
	"errors"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// RowMaker makes the row of each record in one table. It belongs to one goroutine.
type RowMaker struct {
	plan    *Plan
	from    int       // ordinal of the table's first region in the sort
	first   *RowMaker // of the first table, whose row is made before; the maker itself for that table
	source  *RowMaker // of the first table whose rows have the same values, which makes them; may be the maker itself
	program *keygen.Program
	keyCols []int // columns of the key's fields
	fields  [][]byte
	lengths []int    // of a record's values, in the order of slots
	offsets []uint32 // their positions in data
	values  []byte   // the values of a mapped record
	kept    []kept   // by slot, which empty values become cells

	computed []*computed // by slot, for expressions; nil if there are none

	filter *Filter // the table's own, which includes the job's; nil if it has none
	Passes bool    // the filter leaves out the last record
	Passed int64   // records of the batch that the filter leaves out

	// the row made last
	Key    []byte
	data   []byte // the batch's data, or values
	Region int    // in the sort
}

// NewRowMakers returns a maker for each table; their regions follow one another in the sort.
func NewRowMakers(plans []*Plan) ([]*RowMaker, error) {
	var list []*RowMaker
	from := 0
	for _, p := range plans {
		m, err := newRowMaker(p, from)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		m.first = list[0]
		if p.OwnFilter(plans[0]) {
			if m.filter, err = p.NewFilter(); err != nil {
				return nil, err
			}
		}
		from += p.Ranges.Len()
	}
	findSources(list)
	return list, nil
}

// SetNulls sets whether the file of the next records distinguishes NULL from empty text.
func SetNulls(tables []*RowMaker, nulls bool) {
	for _, m := range tables {
		m.kept = m.plan.kept(m.kept[:0], nulls)
	}
	findSources(tables)
}

func newRowMaker(p *Plan, from int) (*RowMaker, error) {
	program, err := keygen.Compile(p.Key, keygen.Options{Regions: p.Modulus})
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	m := &RowMaker{plan: p, from: from, program: program, lengths: make([]int, p.NumValues()), offsets: make([]uint32, p.NumValues()), kept: p.kept(nil, false)}
	for _, c := range program.Columns() {
		m.keyCols = append(m.keyCols, slices.Index(p.Columns, c))
	}
	m.fields = make([][]byte, len(m.keyCols))
	m.source = m
	m.computed, err = p.computedSlots()
	return m, err
}

// Make makes the row of a record, unless the table's own filter leaves it out. The row is valid until the next call, and only as long as
// the batch is. The error is the reason why the record has no row; that of a further table has its name, as the record may be right for the first.
func (m *RowMaker) Make(b *source.Batch, row int) error {
	err := m.makeRow(b, row)
	if err == nil || m == m.first {
		return err
	}
	if f, ok := errors.AsType[*keygen.FieldError](err); ok {
		return &keygen.FieldError{Column: f.Column, Part: f.Part, Err: setting.Errorf("table %s: %w", m.plan.Table, f.Err)}
	}
	return setting.Errorf("table %s: %w", m.plan.Table, err)
}

func (m *RowMaker) makeRow(b *source.Batch, row int) error {
	if m.filter != nil {
		keep, err := m.filter.Keeps(b, row)
		if m.Passes = !keep; err != nil || !keep {
			return err
		}
	}
	for i, c := range m.keyCols {
		m.fields[i] = b.Field(row, c)
	}
	key, err := m.program.Append(m.Key[:0], m.fields)
	if err != nil {
		return err
	}
	if len(key) == 0 {
		return NoKey()
	}
	m.Key = key
	switch {
	case m.source != m:
	case m.plan.mapped:
		err = m.mappedRow(b, row)
		m.data = m.values
	default:
		err = m.textRow(b, row)
		m.data = b.Data
	}
	m.Region = m.from + m.plan.Ranges.Find(key)
	return err
}

// Add adds the last row to the sort. last is the maker whose values of the same record were added before, nil if none were. If the
// values are equal, the sort shares them. Add returns the maker whose values the sort has then.
func (m *RowMaker) Add(out *extsort.Writer, seq uint64, last *RowMaker) (*RowMaker, error) {
	v := m.source
	if v == last {
		if shared, err := out.AddShared(m.Region, seq, m.Key); shared || err != nil {
			return last, err
		}
	}
	dst, err := out.Add(m.Region, seq, m.Key, extsort.PayloadSize(v.lengths))
	if err != nil {
		return last, err
	}
	extsort.Fill(dst, v.lengths, v.data, v.offsets)
	return v, nil
}

// findSources finds the tables whose rows have the same values as those of an earlier table that has a row of every record: these values are
// computed once and stored once in memory.
func findSources(tables []*RowMaker) {
	for i, m := range tables {
		m.source = m
		for _, earlier := range tables[:i] {
			if earlier.source == earlier && earlier.filter == nil && m.sameValues(earlier) {
				m.source = earlier
				break
			}
		}
	}
}

// sameValues reports whether the values of both makers are the bytes of the same columns.
func (m *RowMaker) sameValues(o *RowMaker) bool {
	return !m.plan.mapped && !o.plan.mapped && slices.Equal(m.plan.order, o.plan.order) && slices.Equal(m.kept, o.kept)
}

// HasCell reports whether the last row has a cell: a wide row may get its cells from other records only.
func (m *RowMaker) HasCell() bool {
	for _, n := range m.lengths[:len(m.plan.Slots)] {
		if n >= 0 {
			return true
		}
	}
	return false
}

// RowForm rebuilds the sorted form of a row from the cells of a table.
type RowForm struct {
	buf     []byte
	data    []byte
	lengths []int
	offsets []uint32
}

// Append returns the row's form, valid until the next call. Values are in the
// order of qualifiers, nil for no cell.
func (f *RowForm) Append(key []byte, values [][]byte) []byte {
	f.lengths, f.offsets, f.data = f.lengths[:0], f.offsets[:0], f.data[:0]
	for _, v := range values {
		n := len(v)
		if v == nil {
			n = -1
		}
		f.lengths = append(f.lengths, n)
		f.offsets = append(f.offsets, uint32(len(f.data)))
		f.data = append(f.data, v...)
	}
	n := 2 + len(key) + extsort.PayloadSize(f.lengths)
	if cap(f.buf) < n {
		f.buf = make([]byte, n+n/2)
	}
	b := f.buf[:n]
	binary.LittleEndian.PutUint16(b, uint16(len(key)))
	copy(b[2:], key)
	extsort.Fill(b[2+len(key):], f.lengths, f.data, f.offsets)
	return b
}
