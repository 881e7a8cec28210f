package job

import (
	"cmp"

	"bulkload/pkg/celltype"
	"bulkload/pkg/fail"
)

// CellName is a cell's place in a row, for manifests.
type CellName struct {
	Family    string `json:"family"`
	Qualifier string `json:"qualifier"`
}

// cellsOf calls visit for each cell that rows have of columns' values, as far
// as the mapping keeps them. Without a converter it holds the column's text.
func (s Spec) cellsOf(columns []string, visit func(column int, name CellName, convert celltype.Converter)) {
	named := newNameSet(s.Skip)
	for _, c := range s.Cells {
		if !c.JSON {
			for _, column := range c.columns() {
				named[column] = true
			}
		}
		if c.QualifierFrom != "" {
			named[c.QualifierFrom] = true
		}
	}
	for _, c := range s.entries() {
		if c.JSON || c.Value != nil || c.QualifierFrom != "" {
			continue
		}
		convert, err := c.cellType().Converter()
		if err != nil {
			continue
		}
		its := newNameSet(c.columns())
		for i, column := range columns {
			if c.Rest && named[column] || !c.Rest && !its[column] {
				continue
			}
			visit(i, CellName{cmp.Or(c.Family, s.FamilyName()), cmp.Or(c.Qualifier, column)}, convert)
		}
	}
}

// queryCells are the cells that rows have of these columns' values.
func (s Spec) queryCells(columns, values []string) []knownCell {
	var known []knownCell
	s.cellsOf(columns, func(i int, name CellName, convert celltype.Converter) {
		k := knownCell{name, values[i]}
		if convert != nil {
			b, err := convert(nil, []byte(values[i]))
			if err != nil {
				return
			}
			k.value = string(b)
		}
		known = append(known, k)
	})
	return known
}

// knownCell is a cell with the value that it must have.
type knownCell struct {
	CellName
	value string
}

// textCells are the cells that hold columns as they are, one for each.
func (s Spec) textCells(columns []string) ([]CellName, error) {
	names := make([]CellName, len(columns))
	s.cellsOf(columns, func(i int, name CellName, convert celltype.Converter) {
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
