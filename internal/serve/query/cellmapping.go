package query

import (
	"cmp"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"
)

// reverters returns the reverters of the cells whose values differ from their texts.
func reverters(s spec.Job) map[spec.CellName]celltype.Reverter {
	all := map[spec.CellName]celltype.Reverter{}
	for _, c := range s.Entries() {
		r := c.CellType().Reverter()
		if r == nil || c.QualifierFrom != "" {
			continue
		}
		family := cmp.Or(c.Family, s.FamilyName())
		names := c.ColumnNames()
		if c.Qualifier != "" {
			names = []string{c.Qualifier}
		}
		for _, q := range names {
			all[spec.CellName{Family: family, Qualifier: q}] = r
		}
	}
	return all
}

// revert replaces the values of typed cells by their texts. A value that is invalid for its type, which another
// program may have written, stays unchanged.
func revert(all map[spec.CellName]celltype.Reverter, row loader.Row) {
	for i := range row.Cells {
		c := &row.Cells[i]
		if r := all[spec.CellName{Family: string(c.Family), Qualifier: string(c.Qualifier)}]; r != nil {
			if text, ok := r(c.Value); ok {
				c.Value = []byte(text)
			}
		}
	}
}
