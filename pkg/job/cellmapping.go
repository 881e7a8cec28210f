package job

import (
	"bulkload/pkg/celltype"
	"bulkload/pkg/loader"
)

// reverters are those of the cells whose values are not their text.
func (s Spec) reverters() map[CellName]celltype.Reverter {
	all := map[CellName]celltype.Reverter{}
	for _, c := range s.entries() {
		r := c.cellType().Reverter()
		if r == nil || c.QualifierFrom != "" {
			continue
		}
		family := c.Family
		if family == "" {
			family = s.FamilyName()
		}
		names := c.columns()
		if c.Qualifier != "" {
			names = []string{c.Qualifier}
		}
		for _, q := range names {
			all[CellName{family, q}] = r
		}
	}
	return all
}

// revert puts texts in place of the values of typed cells. A value that is
// none of its type, as another program may have put it, stays.
func revert(all map[CellName]celltype.Reverter, row loader.Row) {
	for i := range row.Cells {
		c := &row.Cells[i]
		if r := all[CellName{string(c.Family), string(c.Qualifier)}]; r != nil {
			if text, ok := r(c.Value); ok {
				c.Value = []byte(text)
			}
		}
	}
}
