package cells

import (
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/formats/expression"
	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/source"
)

// computed evaluates an expression. It belongs to one goroutine.
type computed struct {
	program *expression.Program
	columns []int // of the program's fields
	fields  [][]byte
	buf     []byte
}

func (p *Plan) newComputed(e keygen.Expr) (*computed, error) {
	program, err := expression.Compile(e, expression.Options{Now: p.Timestamp, Salt: p.Salt})
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	c := &computed{program: program, fields: make([][]byte, len(program.Columns()))}
	for _, name := range program.Columns() {
		c.columns = append(c.columns, slices.Index(p.Columns, name))
	}
	return c, nil
}

// computedSlots returns the expressions of slots, by slot; nil if no slot has one.
func (p *Plan) computedSlots() (list []*computed, err error) {
	for i, s := range p.Slots {
		if s.expr == nil {
			continue
		}
		if list == nil {
			list = make([]*computed, len(p.Slots))
		}
		if list[i], err = p.newComputed(s.expr); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// of returns the fields of a record, nil for NULL.
func (c *computed) of(b *source.Batch, row int) [][]byte {
	for i, column := range c.columns {
		c.fields[i] = b.Field(row, column)
	}
	return c.fields
}

// append appends the value of a slot. If empty is true, the record does not have the cell.
func (c *computed) append(data []byte, s *Slot, kept kept, b *source.Batch, row int) (out []byte, empty bool, err error) {
	at := len(data)
	out, null, err := c.program.Append(data, c.of(b, row))
	switch {
	case err != nil:
		return data, false, s.fail(err)
	case len(out) == at:
		return out, !kept.has(null), nil
	case s.convert == nil:
		return out, false, nil
	}
	c.buf = append(c.buf[:0], out[at:]...)
	if out, err = s.convert(out[:at], c.buf); err != nil {
		return data, false, s.fail(err)
	}
	return out, false, nil
}

// fail adds the cell to an error about its value, and the column if it is computed from one.
func (s *Slot) fail(err error) error {
	e := &keygen.FieldError{}
	if f, ok := errors.AsType[*keygen.FieldError](err); ok {
		e.Column, err = f.Column, f.Err
	} else if names := keygen.Columns(s.expr); len(names) == 1 {
		e.Column = names[0]
	}
	e.Err = fmt.Errorf("cell %s:%.40s: %w", s.family, s.qualifier, err)
	return e
}

// A Filter decides which records have rows. It belongs to one goroutine.
type Filter struct{ c *computed }

// NewFilter returns the plan's filter, nil if all records have rows.
func (p *Plan) NewFilter() (*Filter, error) {
	if p.Filter == nil {
		return nil, nil
	}
	c, err := p.newComputed(p.Filter)
	if err != nil {
		return nil, err
	}
	return &Filter{c}, nil
}

// Keeps reports whether a record has rows. If the filter cannot be evaluated, it returns an error: the record is bad.
func (f *Filter) Keeps(b *source.Batch, row int) (bool, error) {
	if f == nil {
		return true, nil
	}
	return f.c.program.True(f.c.of(b, row))
}
