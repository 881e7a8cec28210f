package cells

import (
	"errors"
	"fmt"

	"bulkload/internal/formats/celltype"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// MaxCell is the maximum size of a cell that clients and servers accept
// (hbase.client.keyvalue.maxsize and hbase.server.keyvalue.maxsize, 2.6.4). The
// server does not check a bulk load, so this package does.
const MaxCell = 10 << 20

// mappedRow makes the values of a record's cells in the maker's buffer, for
// plans that do more than reorder the columns' bytes. The error is a
// [*keygen.FieldError] about the invalid column.
func (m *RowMaker) mappedRow(b *source.Batch, row int) error {
	data := m.values[:0]
	var err error
	none := -1 // negative until the first cell
	for i := range m.plan.Slots {
		s := &m.plan.Slots[i]
		at := len(data)
		empty := false
		switch {
		case s.column >= 0:
			text := b.Field(row, s.column)
			switch {
			case len(text) == 0:
				empty = !m.kept[i].has(b.Null(row, s.column))
			case s.convert == nil:
				data = append(data, text...)
			default:
				if data, err = s.convert(data, text); err != nil {
					return &keygen.FieldError{Column: m.plan.Columns[s.column], Err: err}
				}
			}
		case s.members != nil:
			if data, err = m.object(data, s.members, m.kept[i], b, row); err != nil {
				return err
			}
		case s.expr != nil:
			if data, empty, err = m.computed[i].append(data, s, m.kept[i], b, row); err != nil {
				return err
			}
		case s.rowKey:
			data = append(data, m.first.Key...)
		default:
			data = append(data, s.constant...)
		}
		m.offsets[i], m.lengths[i] = uint32(at), len(data)-at
		if empty {
			m.lengths[i] = -1
		}
		none &= m.lengths[i]
		if len(data)-at > MaxCell {
			return m.tooLong(i, len(data)-at)
		}
	}
	// Another record of a wide row may have cells.
	if none < 0 && len(m.plan.wide) == 0 {
		return m.noCell()
	}
	for i, c := range m.plan.wide {
		name := b.Field(row, c)
		if len(name) == 0 {
			return &keygen.FieldError{Column: m.plan.Columns[c], Err: fmt.Errorf("%w: it is empty, but gives a cell's qualifier", celltype.ErrValue)}
		}
		at := len(m.plan.Slots) + i
		m.offsets[at], m.lengths[at] = uint32(len(data)), len(name)
		data = append(data, name...)
	}
	if data, err = m.times(data, b, row); err != nil {
		return err
	}
	m.values = data
	return nil
}

// object appends the record as a JSON object.
func (m *RowMaker) object(dst []byte, members []member, kept kept, b *source.Batch, row int) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range members {
		x := &members[i]
		text := b.Field(row, x.column)
		null := b.Null(row, x.column)
		if len(text) == 0 && !kept.has(null) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if null {
			dst = append(append(dst, x.name...), "null"...)
			continue
		}
		var err error
		if dst, err = celltype.AppendJSON(append(dst, x.name...), text); err != nil {
			return dst, &keygen.FieldError{Column: m.plan.Columns[x.column], Err: err}
		}
	}
	return append(dst, '}'), nil
}

// textRow locates the values of a record's cells in the batch.
func (m *RowMaker) textRow(b *source.Batch, row int) error {
	spans := b.Fields[row*b.Cols : (row+1)*b.Cols]
	none := -1 // negative until the first cell
	for i, c := range m.plan.order {
		n := int(spans[c].Len)
		if n == 0 && !m.kept[i].has(spans[c].IsNull()) {
			n = -1
		} else if n > MaxCell {
			return m.tooLong(i, n)
		}
		m.lengths[i], m.offsets[i] = n, spans[c].Off
		none &= n
	}
	if none < 0 {
		return m.noCell()
	}
	return nil
}

// noCell returns the error for a record that would leave no trace in the table: a row without cells does not exist.
func (m *RowMaker) noCell() error {
	for i := range m.kept {
		if !m.kept[i].empty {
			return &keygen.FieldError{Err: setting.Errorf("the record has no cell: all its values are empty (%s store makes empty cells)", setting.Empty)}
		}
	}
	return &keygen.FieldError{Err: errors.New("the record has no cell: all its values are NULL")}
}

func (m *RowMaker) tooLong(slot, n int) error {
	s := &m.plan.Slots[slot]
	e := &keygen.FieldError{Err: fmt.Errorf("value of %s is larger than the %d that HBase's clients take", setting.Count(n, "byte"), MaxCell)}
	if s.column >= 0 {
		e.Column = m.plan.Columns[s.column]
	}
	return e
}

// member is one member of the JSON object that a record becomes.
type member struct {
	column int
	name   []byte // as JSON, with the colon
}

func newMember(name string, column int) member {
	text, err := celltype.AppendJSON(nil, []byte(name))
	if err != nil { // the column's name is not valid text
		text, _ = celltype.AppendJSON(nil, []byte(string([]rune(name))))
	}
	return member{column: column, name: append(text, ':')}
}
