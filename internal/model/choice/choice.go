package choice

import (
	"bytes"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/setting"
)

// A Column selects cells.
type Column struct {
	Family    string `json:"family"`
	Qualifier []byte `json:"qualifier"` // nil: every column of the family
}

// A Choice is some of a table's cells. The zero value is all.
type Choice struct {
	// Ranges are the ranges of the rows, in order and apart from each other. Default: all rows.
	Ranges []keyrange.Range `json:"ranges,omitempty"`
	// Salts are the salts that the ranges are of, where original keys bound the rows: a table is held to them. Nil: there are none.
	Salts *keyrange.Salts `json:"-"`
	// Columns are the columns of the cells. Default: all.
	Columns []Column `json:"columns,omitempty"`
	// Since and Until bound the timestamps of cells: [Since, Until), in milliseconds; Until 0: no bound.
	Since int64 `json:"since,omitempty"`
	Until int64 `json:"until,omitempty"`
	// Versions is how many cells of a column are read into records, the newest of those of the times; a row is a record for each timestamp
	// of its cells. 0: a row is one record, with the newest cell of each column. Only records have it: other readers of cells
	// say apart from their choice how many versions they read.
	Versions int `json:"versions,omitempty"`
}

// OfCells reports whether a row may have cells that are not chosen.
func (c Choice) OfCells() bool { return len(c.Columns) > 0 || c.Timed() }

// Timed reports whether timestamps are bounded.
func (c Choice) Timed() bool { return c.Since > 0 || c.Until > 0 }

// Check refuses a choice that nothing is in.
func (c Choice) Check() error {
	if c.Until > 0 && c.Until <= c.Since {
		return fail.Errorf(fail.Config, "%s is not before %s: no cell is between them", setting.Since, setting.Until)
	}
	return fail.With(fail.Config, keyrange.Check(c.Ranges))
}

// CheckFamilies refuses a choice of families that a table, or what else has a name, does not have.
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

// InFamily returns the part of a choice for one of its families.
func (c Choice) InFamily(name string) Choice {
	if len(c.Columns) == 0 {
		c.Columns = []Column{{Family: name}}
		return c
	}
	c.Columns = slices.DeleteFunc(slices.Clone(c.Columns), func(x Column) bool { return x.Family != name })
	return c
}

// Has reports whether cells of a column are chosen, as far as their times are.
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

// Of returns the part of some families that is read: whole families, and single columns of others.
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
