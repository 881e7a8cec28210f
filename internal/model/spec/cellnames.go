package spec

import (
	"cmp"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/fail"
)

// CellName is a cell's place in a row, for manifests.
type CellName struct {
	Family    string `json:"family"`
	Qualifier string `json:"qualifier"`
}

// CellsOf calls visit for each cell that rows have of columns' values, as far
// as the mapping keeps them. Without a converter it holds the column's text.
func (s Spec) CellsOf(columns []string, visit func(column int, name CellName, convert celltype.Converter)) {
	named := newNameSet(s.Skip)
	for _, c := range s.Cells {
		if !c.JSON {
			for _, column := range c.ColumnNames() {
				named[column] = true
			}
		}
		if c.QualifierFrom != "" {
			named[c.QualifierFrom] = true
		}
	}
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

// QueryCells returns the cells that rows have of these columns' values.
func (s Spec) QueryCells(columns, values []string) []KnownCell {
	var known []KnownCell
	s.CellsOf(columns, func(i int, name CellName, convert celltype.Converter) {
		k := KnownCell{name, values[i]}
		if convert != nil {
			b, err := convert(nil, []byte(values[i]))
			if err != nil {
				return
			}
			k.Value = string(b)
		}
		known = append(known, k)
	})
	return known
}

// KnownCell is a cell with the value that it must have.
type KnownCell struct {
	CellName
	Value string
}

// TextCells returns the cells that hold columns as they are, one for each.
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
