package cells

import (
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// RowMaker makes the row that each record has in one table. It belongs to one goroutine.
type RowMaker struct {
	plan    *Plan
	from    int       // ordinal of the table's first region in the sort
	first   *RowMaker // of the first table, which has made its row before; of that itself
	source  *RowMaker // of the first table whose rows have the same values, which makes them; of that itself
	program *keygen.Program
	keyCols []int // columns of the key's fields
	fields  [][]byte
	lengths []int    // of a record's values, in the order of slots
	offsets []uint32 // and where they are in data
	values  []byte   // those of a mapped record
	kept    []kept   // by slot, what becomes a cell without a byte

	computed []*computed // by slot, of those that are; nil if none is

	filter *Filter // the table's own, which includes the job's; nil if it has none
	Passes bool    // it leaves the last record out
	Passed int64   // records of the batch that it leaves out

	// the row made last
	Key    []byte
	data   []byte // the batch's, or values
	Region int    // in the sort
}

// NewRowMakers makes one for each table; their regions follow one another in the sort.
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

// SetNulls says whether the file of the next records has NULL as well as empty texts.
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

// Make makes the row of a record, unless the table's own filter leaves it out. What it makes is valid until the next call, as far as the
// batch is. The error says why the record has none.
func (m *RowMaker) Make(b *source.Batch, row int) error {
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

// Add puts the row that was made last into the sort, which has got the values of last before, of the same record, and gives the one
// whose values it has then.
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

// findSources finds the tables whose rows have the values of an earlier table's, which has a row of every record: these are made once, and held
// once in memory.
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

// sameValues reports whether the values of both are the bytes of the same columns.
func (m *RowMaker) sameValues(o *RowMaker) bool {
	return !m.plan.mapped && !o.plan.mapped && slices.Equal(m.plan.order, o.plan.order) && slices.Equal(m.kept, o.kept)
}

// HasCell reports whether the row that was made last has a cell: a wide row may get them of other records alone.
func (m *RowMaker) HasCell() bool {
	for _, n := range m.lengths[:len(m.plan.Slots)] {
		if n >= 0 {
			return true
		}
	}
	return false
}
