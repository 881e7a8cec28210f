package build

import (
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// rowMaker makes the row that each record has in one table. It belongs to one goroutine.
type rowMaker struct {
	plan    *Plan
	from    int       // ordinal of the table's first region in the sort
	first   *rowMaker // of the first table, which has made its row before; of that itself
	source  *rowMaker // of the first table whose rows have the same values, which makes them; of that itself
	program *keygen.Program
	keyCols []int // columns of the key's fields
	fields  [][]byte
	lengths []int    // of a record's values, in the order of slots
	offsets []uint32 // and where they are in data
	values  []byte   // those of a mapped record
	kept    []kept   // by slot, what becomes a cell without a byte

	computed []*computed // by slot, of those that are; nil if none is

	filter *Filter // the table's own, which includes the job's; nil if it has none
	passes bool    // it leaves the last record out
	passed int64   // records of the batch that it leaves out

	// the row made last
	key    []byte
	data   []byte // the batch's, or values
	region int    // in the sort
}

// newRowMakers makes one for each table; their regions follow one another in the sort.
func newRowMakers(plans []*Plan) ([]*rowMaker, error) {
	var list []*rowMaker
	from := 0
	for _, p := range plans {
		m, err := newRowMaker(p, from)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		m.first = list[0]
		if p.ownFilter(plans[0]) {
			if m.filter, err = p.NewFilter(); err != nil {
				return nil, err
			}
		}
		from += p.Ranges.Len()
	}
	findSources(list)
	return list, nil
}

// setNulls says whether the file of the next records has NULL as well as empty texts.
func setNulls(tables []*rowMaker, nulls bool) {
	for _, m := range tables {
		m.kept = m.plan.kept(m.kept[:0], nulls)
	}
	findSources(tables)
}

func newRowMaker(p *Plan, from int) (*rowMaker, error) {
	program, err := keygen.Compile(p.Key, keygen.Options{Regions: p.Modulus})
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	m := &rowMaker{plan: p, from: from, program: program, lengths: make([]int, p.values()), offsets: make([]uint32, p.values()), kept: p.kept(nil, false)}
	for _, c := range program.Columns() {
		m.keyCols = append(m.keyCols, slices.Index(p.Columns, c))
	}
	m.fields = make([][]byte, len(m.keyCols))
	m.source = m
	m.computed, err = p.computedSlots()
	return m, err
}

// make makes the row of a record, unless the table's own filter leaves it out. What it makes is valid until the next call, as far as the
// batch is. The error says why the record has none.
func (m *rowMaker) make(b *source.Batch, row int) error {
	if m.filter != nil {
		keep, err := m.filter.Keeps(b, row)
		if m.passes = !keep; err != nil || !keep {
			return err
		}
	}
	for i, c := range m.keyCols {
		m.fields[i] = b.Field(row, c)
	}
	key, err := m.program.Append(m.key[:0], m.fields)
	if err != nil {
		return err
	}
	if len(key) == 0 {
		return NoKey()
	}
	m.key = key
	switch {
	case m.source != m:
	case m.plan.mapped:
		err = m.mappedRow(b, row)
		m.data = m.values
	default:
		err = m.textRow(b, row)
		m.data = b.Data
	}
	m.region = m.from + m.plan.Ranges.Find(key)
	return err
}

// add puts the row that was made last into the sort, which has got the values of last before, of the same record, and gives the one
// whose values it has then.
func (m *rowMaker) add(out *extsort.Writer, seq uint64, last *rowMaker) (*rowMaker, error) {
	v := m.source
	if v == last {
		if shared, err := out.AddShared(m.region, seq, m.key); shared || err != nil {
			return last, err
		}
	}
	dst, err := out.Add(m.region, seq, m.key, extsort.PayloadSize(v.lengths))
	if err != nil {
		return last, err
	}
	extsort.Fill(dst, v.lengths, v.data, v.offsets)
	return v, nil
}

// findSources finds the tables whose rows have the values of an earlier table's, which has a row of every record: these are made once, and held
// once in memory.
func findSources(tables []*rowMaker) {
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
func (m *rowMaker) sameValues(o *rowMaker) bool {
	return !m.plan.mapped && !o.plan.mapped && slices.Equal(m.plan.order, o.plan.order) && slices.Equal(m.kept, o.kept)
}

// anyCell reports whether the row that was made last has a cell: a wide row may get them of other records alone.
func (m *rowMaker) anyCell() bool {
	for _, n := range m.lengths[:len(m.plan.slots)] {
		if n >= 0 {
			return true
		}
	}
	return false
}
