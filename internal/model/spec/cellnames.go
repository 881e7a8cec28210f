package spec

import (
	"cmp"
	"slices"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/fail"
)

// CellName is the column of a cell, as manifests have it.
type CellName struct {
	Family    string `json:"family"`
	Qualifier string `json:"qualifier"`
}

// CellsOf calls visit for each cell that the mapping makes from a single column. If
// convert is nil, the cell holds the column's text.
func (s Spec) CellsOf(columns []string, visit func(column int, name CellName, convert celltype.Converter)) {
	named := newNameSet(s.UsedColumns())
	for _, c := range s.Entries() {
		if c.JSON || c.Value != nil || c.Expr != "" || c.RowKey || c.QualifierFrom != "" {
			continue
		}
		convert, err := c.CellType().Converter()
		if err != nil {
			continue
		}
		its := newNameSet(c.ColumnNames())
		for i, column := range columns {
			if c.Rest && named[column] || !c.Rest && !its[column] {
				continue
			}
			visit(i, CellName{cmp.Or(c.Family, s.FamilyName()), cmp.Or(c.Qualifier, column)}, convert)
		}
	}
}

// OpenTypes returns the types of the cells that the mapping makes under names that the job does not have, by family: cells whose qualifiers are values,
// and those of a rest if the columns are not known.
func (s Spec) OpenTypes() map[string][]celltype.Type {
	open := map[string][]celltype.Type{}
	for _, c := range s.Entries() {
		if c.QualifierFrom == "" && (!c.Rest || len(s.Columns) > 0) {
			continue
		}
		t := c.CellType()
		if t.Type == "text" {
			t = celltype.Type{}
		}
		if family := cmp.Or(c.Family, s.FamilyName()); !slices.Contains(open[family], t) {
			open[family] = append(open[family], t)
		}
	}
	return open
}

// CellNames returns the cells that the mapping makes from a single column.
func (s Spec) CellNames(column string) []CellName {
	var names []CellName
	s.CellsOf([]string{column}, func(_ int, name CellName, _ celltype.Converter) { names = append(names, name) })
	return names
}

// QueryCells returns the cells that rows must have if their columns have the given
// values.
func (s Spec) QueryCells(columns, values []string) []KnownCell {
	var known []KnownCell
	s.CellsOf(columns, func(i int, name CellName, convert celltype.Converter) {
		k := KnownCell{CellName: name, Value: values[i]}
		if convert != nil {
			b, err := convert(nil, []byte(values[i]))
			k.Value, k.None = string(b), err != nil
		}
		known = append(known, k)
	})
	return known
}

// KnownCell is a cell with its expected value.
type KnownCell struct {
	CellName
	Value string
	None  bool // no cell has the value, which the cell's type does not take
}

// TextCells returns for each column a cell that holds the column's text unchanged.
func (s Spec) TextCells(columns []string) ([]CellName, error) {
	names := make([]CellName, len(columns))
	s.CellsOf(columns, func(i int, name CellName, convert celltype.Converter) {
		if convert == nil {
			names[i] = name
		}
	})
	for i, n := range names {
		if n.Qualifier == "" {
			return nil, fail.Errorf(fail.Config, "column %q is not in the table as text, so that rows cannot be compared by it", columns[i])
		}
	}
	return names, nil
}

// nameSet is a set of column names. It may hold many thousands.
type nameSet map[string]bool

func newNameSet(names []string) nameSet {
	s := make(nameSet, len(names))
	for _, n := range names {
		s[n] = true
	}
	return s
}

// add adds a name, and reports whether it is new.
func (s nameSet) add(name string) bool {
	if s[name] {
		return false
	}
	s[name] = true
	return true
}
