package choice

import (
	"bytes"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/setting"
)

// A Column selects the cells of a family or of one column.
type Column struct {
	Family    string `json:"family"`
	Qualifier []byte `json:"qualifier"` // nil: every column of the family
}

// A Choice selects cells of a table. The zero value selects all.
type Choice struct {
	// Ranges are the ranges of row keys, in order and disjoint. Default: all rows.
	Ranges []keyrange.Range `json:"ranges,omitempty"`
	// Salts are the salts from which Ranges were made, if original keys bound the rows; the table is checked against them. Nil: there are none.
	Salts *keyrange.Salts `json:"-"`
	// KeyOrder is the key's spec if Ranges have other rows than the values of their bounds, because keys have another order: see [keyrange.Key.ByValue].
	KeyOrder string `json:"-"`
	// Columns are the selected families and columns. Default: all.
	Columns []Column `json:"columns,omitempty"`
	// Since and Until bound the timestamps of cells: [Since, Until), in milliseconds; Until 0: no bound.
	Since int64 `json:"since,omitempty"`
	Until int64 `json:"until,omitempty"`
	// Versions is the number of cells per column, the newest within the time range, that are read into records. A row then becomes one record for each
	// timestamp of these cells. 0: a row is one record, with the newest cell of each column. Only readers of records use this field; readers of cells
	// specify their number of versions separately.
	Versions int `json:"versions,omitempty"`
}

// OfCells reports whether the choice selects among the cells of a row, so that a row may have cells that are not selected.
func (c Choice) OfCells() bool { return len(c.Columns) > 0 || c.Timed() }

// Timed reports whether the choice bounds timestamps.
func (c Choice) Timed() bool { return c.Since > 0 || c.Until > 0 }

// Check refuses a choice that cannot select anything.
func (c Choice) Check() error {
	if c.Until > 0 && c.Until <= c.Since {
		return fail.Errorf(fail.Config, "%s is not before %s: no cell is between them", setting.Since, setting.Until)
	}
	return fail.With(fail.Config, keyrange.Check(c.Ranges))
}

// CheckFamilies refuses a choice with families that are not in have. name stands in the error for what has these families, such as a table.
func (c Choice) CheckFamilies(name string, have []string) error {
	for _, f := range c.Families() {
		if !slices.Contains(have, f) {
			return fail.Errorf(fail.Config, "%s has no family %s", name, f)
		}
	}
	return nil
}

// Families returns the families that the columns name; nil: all.
func (c Choice) Families() (names []string) {
	for _, x := range c.Columns {
		if !slices.Contains(names, x.Family) {
			names = append(names, x.Family)
		}
	}
	return names
}

// InFamily returns the choice restricted to one of its families.
func (c Choice) InFamily(name string) Choice {
	if len(c.Columns) == 0 {
		c.Columns = []Column{{Family: name}}
		return c
	}
	c.Columns = slices.DeleteFunc(slices.Clone(c.Columns), func(x Column) bool { return x.Family != name })
	return c
}

// Has reports whether the choice includes a column. It does not look at timestamps.
func (c Choice) Has(family, qualifier []byte) bool {
	if len(c.Columns) == 0 {
		return true
	}
	for _, x := range c.Columns {
		if x.Family == string(family) && (x.Qualifier == nil || bytes.Equal(x.Qualifier, qualifier)) {
			return true
		}
	}
	return false
}

// Of returns which parts of the given families are to be read: some as a whole, and single columns of the others.
func (c Choice) Of(families []string) (whole []string, single []Column) {
	if len(c.Columns) == 0 {
		return families, nil
	}
	for _, x := range c.Columns {
		if x.Qualifier == nil && slices.Contains(families, x.Family) && !slices.Contains(whole, x.Family) {
			whole = append(whole, x.Family)
		}
	}
	for _, x := range c.Columns {
		if slices.Contains(families, x.Family) && !slices.Contains(whole, x.Family) {
			single = append(single, x)
		}
	}
	return whole, single
}
