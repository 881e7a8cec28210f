package cells

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
)

// Slot is a cell that a record may become. A row's payload in the sort has a
// value for each slot of the plan, in the order of the slots, which is the
// order of cells in a table: by family, then by qualifier.
type Slot struct {
	family    string
	qualifier string
	Name      []byte // the qualifier
	// QualifierOf is the column whose value is the qualifier, -1 for none. The
	// values of these columns follow the values of all slots, in their order.
	QualifierOf int
	column      int                // of the record; -1 if the value is not made from one column
	convert     celltype.Converter // nil: the column's bytes as they are
	constant    []byte             // for every row, if members is nil too
	members     []member           // of a JSON object
	expr        keygen.Expr        // of a computed value
	rowKey      bool               // the value is the key of the record's row in the first table
	empty       string             // how empty text is stored, as in a plan
	nulls       bool               // NULL becomes an empty cell
}

// FamilySpan is the range of slots of one family.
type FamilySpan struct {
	spec.Family
	From, To int
}

// MapCells creates the plan's slots and families. Families without settings get
// the settings of the plan's own family.
func (p *Plan) MapCells(m spec.Mapping, family string, settings []spec.Family) error {
	var errs []error
	bad := func(i int, c spec.CellSpec, err error) {
		errs = append(errs, fmt.Errorf("cells: %s: %w", c.Label(i), err))
	}
	places := make(map[string]int, len(p.Columns))
	for i, column := range p.Columns {
		places[column] = i
	}
	at := func(column string) (int, error) {
		if i, ok := places[column]; ok {
			return i, nil
		}
		return -1, fmt.Errorf("unknown column %q (the input has %s)", column, keygen.ColumnList(p.Columns))
	}
	used := m.UsedColumns()
	for _, column := range m.Skip {
		if _, err := at(column); err != nil {
			errs = append(errs, &spec.FieldError{Field: "skip", Err: err})
		}
	}
	var timeErrs []error
	p.timing, timeErrs = newTiming(m, at)
	errs = append(errs, timeErrs...)
	p.Slots = nil
	for i, c := range m.Entries() {
		s := Slot{family: cmp.Or(c.Family, family), qualifier: c.Qualifier, column: -1, QualifierOf: -1,
			empty: cmp.Or(c.Empty, p.Empty), nulls: c.Nulls == "store"}
		if c.QualifierFrom != "" {
			var err error
			if s.QualifierOf, err = at(c.QualifierFrom); err != nil {
				bad(i, c, err)
			}
		}
		convert, err := c.CellType().Converter()
		if err != nil {
			bad(i, c, err)
			continue
		}
		columns := c.ColumnNames()
		switch {
		case c.Value != nil:
			s.constant = []byte(*c.Value)
			if convert != nil {
				if s.constant, err = convert(nil, s.constant); err != nil {
					bad(i, c, err)
				}
			}
			p.Slots = append(p.Slots, s)
			continue
		case c.Expr != "":
			if s.expr, err = c.Expression(); err == nil {
				err = keygen.CheckValue(s.expr, p.Columns)
			}
			if err != nil {
				bad(i, c, err)
			}
			s.convert = convert
			p.Slots = append(p.Slots, s)
			continue
		case c.RowKey:
			s.rowKey = true
			p.Slots = append(p.Slots, s)
			continue
		case c.JSON:
			if len(columns) == 0 {
				columns = without(p.Columns, m.Skip)
			}
			s.members = []member{}
			for _, column := range columns {
				at, err := at(column)
				if err != nil {
					bad(i, c, err)
					continue
				}
				s.members = append(s.members, newMember(column, at))
			}
			p.Slots = append(p.Slots, s)
			continue
		case c.Rest:
			columns = without(p.Columns, used)
		}
		s.convert = convert
		for _, column := range columns {
			if s.column, err = at(column); err != nil {
				bad(i, c, err)
			}
			if s.qualifier = cmp.Or(c.Qualifier, column); s.QualifierOf >= 0 {
				s.qualifier = ""
			}
			p.Slots = append(p.Slots, s)
		}
	}
	slices.SortStableFunc(p.Slots, func(a, b Slot) int {
		return cmp.Or(strings.Compare(a.family, b.family), strings.Compare(a.qualifier, b.qualifier))
	})
	for i := 1; i < len(p.Slots); i++ {
		if a, b := p.Slots[i-1], p.Slots[i]; a.family == b.family && a.qualifier == b.qualifier && a.QualifierOf < 0 && b.QualifierOf < 0 {
			errs = append(errs, fmt.Errorf("cells: two of them are %s:%s", a.family, a.qualifier))
		}
	}
	if len(errs) == 0 && len(p.Slots) == 0 {
		errs = append(errs, errors.New("cells: no column is left for a cell"))
	}
	if len(errs) > 0 {
		return fail.With(fail.Config, errors.Join(errs...))
	}
	p.spread(settings)
	return p.checkVersions()
}

// spread determines the families of the slots, and whether records need more
// than reordering.
func (p *Plan) spread(settings []spec.Family) {
	p.Families, p.order, p.wide, p.mapped = nil, nil, nil, p.Timed()
	for i, s := range p.Slots {
		if n := len(p.Families); n > 0 && p.Families[n-1].Name == s.family {
			p.Families[n-1].To = i + 1
		} else {
			f := p.Family
			f.Name = s.family
			if at := slices.IndexFunc(settings, func(f spec.Family) bool { return f.Name == s.family }); at >= 0 {
				f = settings[at]
			}
			p.Families = append(p.Families, FamilySpan{f, i, i + 1})
		}
		p.order = append(p.order, s.column)
		p.Slots[i].Name = []byte(s.qualifier)
		if s.QualifierOf >= 0 {
			p.wide, p.mapped = append(p.wide, s.QualifierOf), true
		}
		p.mapped = p.mapped || s.column < 0 || s.convert != nil
	}
	p.Family = p.Families[0].Family
}

// FamilyNames returns the names of the plan's families in order.
func (p *Plan) FamilyNames() []string {
	var names []string
	for _, f := range p.Families {
		names = append(names, f.Name)
	}
	return names
}

// NumValues returns the number of values of a row in the sort.
func (p *Plan) NumValues() int { return len(p.Slots) + len(p.wide) + p.timing.values() }

// Carries reports, for each column of the records, whether a row holds its value in addition to the key.
func (p *Plan) Carries() []bool {
	held := make([]bool, len(p.Columns))
	hold := func(column int) {
		if column >= 0 {
			held[column] = true
		}
	}
	for _, s := range p.Slots {
		hold(s.column)
		for _, m := range s.members {
			hold(m.column)
		}
		if s.expr != nil {
			for _, name := range keygen.Columns(s.expr) {
				hold(slices.Index(p.Columns, name))
			}
		}
	}
	for _, c := range append([]int{p.timing.stamp, p.timing.ttl}, p.wide...) {
		hold(c)
	}
	return held
}

// CellNames returns the names of the slots, for a manifest; nil if columns and
// family determine them.
func (p *Plan) CellNames() []spec.CellName {
	if !p.Mapping.Given() {
		return nil
	}
	names := make([]spec.CellName, len(p.Slots))
	for i, s := range p.Slots {
		names[i] = spec.CellName{Family: s.family, Qualifier: s.qualifier}
	}
	return names
}

// without returns list without the elements of drop.
func without(list, drop []string) []string {
	dropped := make(map[string]bool, len(drop))
	for _, name := range drop {
		dropped[name] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return dropped[s] })
}

// kept determines which empty values of a slot become an empty cell.
type kept struct{ empty, null bool }

// has reports whether an empty value becomes a cell. null means that the value is NULL.
func (k kept) has(null bool) bool {
	if null {
		return k.null
	}
	return k.empty
}

// kept appends, by slot, which empty values become cells in a file. nulls reports whether the file distinguishes NULL from
// empty text. An empty text can be a cell; an empty number cannot.
func (p *Plan) kept(dst []kept, nulls bool) []kept {
	for i := range p.Slots {
		s := &p.Slots[i]
		dst = append(dst, kept{empty: s.convert == nil && storesEmpty(s.empty, nulls), null: s.convert == nil && s.nulls})
	}
	return dst
}

// StoresEmpty reports whether empty text becomes a cell, except in columns with a setting of their own. nulls reports whether the file has NULL.
func (p *Plan) StoresEmpty(nulls bool) bool { return storesEmpty(p.Empty, nulls) }

func storesEmpty(empty string, nulls bool) bool { return empty == "store" || empty == "" && nulls }
