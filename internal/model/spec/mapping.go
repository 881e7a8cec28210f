package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/formats/expression"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
)

// Mapping defines the cells of a record. The zero value stores every column as a text cell of the job's family, whose qualifier is the column's name.
type Mapping struct {
	Cells []CellSpec `yaml:"cells" json:"cells,omitempty"` // columns that are not in the list are left out; empty: a cell with rest alone
	Skip  []string   `yaml:"skip" json:"skip,omitempty"`   // columns that are left out of the rest and of JSON objects

	CellTimestamp *TimeColumn `yaml:"cell_timestamp" json:"cell_timestamp,omitempty"` // timestamp of the record's cells; default: the job's
	CellTTL       *TTLColumn  `yaml:"cell_ttl" json:"cell_ttl,omitempty"`             // TTL of the record's cells; default: the family's
}

// CellSpec is one cell of a record, or several of the same kind. Exactly one of Column, Columns without JSON, Value, Expr, JSON and Rest defines the
// source of its value.
type CellSpec struct {
	Column    string   `yaml:"column" json:"column,omitempty"`
	Columns   []string `yaml:"columns" json:"columns,omitempty"` // one cell per column; with JSON: the object's members
	Value     *string  `yaml:"value" json:"value,omitempty"`     // the same in every row
	Expr      string   `yaml:"expr" json:"expr,omitempty"`       // a computed value, see package expression
	JSON      bool     `yaml:"json" json:"json,omitempty"`       // the record as a JSON object of texts
	Rest      bool     `yaml:"rest" json:"rest,omitempty"`       // every column that no other cell names and that is not skipped, as text
	Family    string   `yaml:"family" json:"family,omitempty"`   // default: the job's
	Qualifier string   `yaml:"qualifier" json:"qualifier,omitempty"`
	// QualifierFrom is a column whose values are the qualifiers of this cell. All records of a key then make one row. The cell's value must be a column
	// or a constant.
	QualifierFrom string `yaml:"qualifier_from" json:"qualifier_from,omitempty"`

	Type     string `yaml:"type" json:"type,omitempty"`         // default text
	Encoding string `yaml:"encoding" json:"encoding,omitempty"` // of the type: hbase (default) or phoenix
	Layout   string `yaml:"layout" json:"layout,omitempty"`     // format of a date or timestamp, default yyyy-MM-dd and yyyy-MM-dd HH:mm:ss[.SSS]
	Zone     string `yaml:"zone" json:"zone,omitempty"`         // time zone of the text, default UTC

	Empty string `yaml:"empty" json:"empty,omitempty"` // handling of an empty text: skip or store; default: the job's
	Nulls string `yaml:"nulls" json:"nulls,omitempty"` // handling of NULL: skip (default) or store, as an empty cell; in a JSON object, store writes null

	// RowKey makes the value the record's row key in the job's first table. Entries of an index have such a cell; job files cannot set it.
	RowKey bool `yaml:"-" json:"row_key,omitempty"`
}

// Given reports whether the job has a mapping.
func (m Mapping) Given() bool {
	return len(m.Cells) > 0 || len(m.Skip) > 0 || m.CellTimestamp != nil || m.CellTTL != nil
}

// Entries returns the cells, or the default if the list is empty.
func (m Mapping) Entries() []CellSpec {
	if len(m.Cells) == 0 {
		return []CellSpec{{Rest: true}}
	}
	return m.Cells
}

// Families returns the families that a job writes, in their order in a table.
func (s Spec) Families() []string {
	var names []string
	for _, c := range s.Entries() {
		f := cmp.Or(c.Family, s.FamilyName())
		if !slices.Contains(names, f) {
			names = append(names, f)
		}
	}
	slices.Sort(names)
	return names
}

// validate returns all errors of a mapping, except for columns that do not exist.
func (m Mapping) validate() []error {
	var errs []error
	rests, skipped := 0, newNameSet(m.Skip)
	for i, c := range m.Cells {
		for _, err := range c.validate() {
			errs = append(errs, &FieldError{"cells", fmt.Errorf("%s: %w", c.Label(i), err)})
		}
		if c.Rest {
			rests++
		}
		for _, column := range c.ColumnNames() {
			if skipped[column] {
				errs = append(errs, &FieldError{"cells", fmt.Errorf("%s: column %q is under skip too", c.Label(i), column)})
			}
		}
	}
	if rests > 1 {
		errs = append(errs, &FieldError{"cells", errors.New("rest is given twice")})
	}
	for i, c := range m.Skip {
		if c == "" {
			errs = append(errs, &FieldError{"skip", fmt.Errorf("column %d has no name", i+1)})
		}
	}
	return append(errs, m.validateTimes()...)
}

// UsedColumns returns the columns that the cells of all other columns leave out: those that are skipped, and those of the listed cells, except for cells of JSON.
func (m Mapping) UsedColumns() []string {
	used := slices.Clone(m.Skip)
	for _, c := range m.Cells {
		if !c.JSON {
			used = append(used, c.ColumnNames()...)
		}
		if c.QualifierFrom != "" {
			used = append(used, c.QualifierFrom)
		}
	}
	return used
}

// NamedColumns returns the columns that the key and the mapping name, each once and in this order. It returns nil if the mapping also includes columns
// that it does not name.
func (j Job) NamedColumns() []string {
	if slices.ContainsFunc(j.Entries(), func(c CellSpec) bool { return c.Rest || c.JSON && len(c.Columns) == 0 }) {
		return nil
	}
	return j.mentioned(nil)
}

// MentionedColumns returns all columns that the keys and mappings of the job's tables name. The inputs may have more columns.
func (j Job) MentionedColumns() (names []string) {
	for _, t := range j.Targets() {
		names = t.mentioned(names, t.Skip...)
	}
	return names
}

// mentioned appends more, and the columns that the key and the mapping name, to names, each once.
func (j Job) mentioned(names []string, more ...string) []string {
	add := func(list ...string) {
		for _, name := range list {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	add(more...)
	if j.rowKey != nil {
		add(keygen.Columns(j.rowKey)...)
	}
	if j.rowFilter != nil {
		add(keygen.Columns(j.rowFilter)...)
	}
	for _, c := range j.Entries() {
		add(c.ColumnNames()...)
		add(c.QualifierFrom)
		if e, err := c.Expression(); err == nil && e != nil {
			add(keygen.Columns(e)...)
		}
	}
	add(expectation.Columns(j.checks)...)
	if t := j.CellTimestamp; t != nil {
		add(t.Column)
	}
	if t := j.CellTTL; t != nil {
		add(t.Column)
	}
	add(j.Query...)
	return names
}

// ColumnNames returns the columns that a cell names.
func (c CellSpec) ColumnNames() []string {
	if c.Column != "" {
		return []string{c.Column}
	}
	return c.Columns
}

// Label returns the name of the i-th cell of a list in messages.
func (c CellSpec) Label(i int) string {
	what := ""
	switch {
	case c.Column != "":
		what = " (column " + c.Column + ")"
	case c.JSON:
		what = " (json)"
	case len(c.Columns) > 0:
		what = " (columns " + strings.Join(c.Columns, ", ") + ")"
	case c.Rest:
		what = " (rest)"
	case c.Value != nil:
		what = " (value)"
	case c.Expr != "":
		what = " (expr)"
	case c.RowKey:
		what = " (row key)"
	}
	return fmt.Sprintf("cell %d%s", i+1, what)
}

func (c CellSpec) validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	sources := 0
	for _, given := range []bool{c.Column != "", len(c.Columns) > 0 && !c.JSON, c.Value != nil, c.Expr != "", c.JSON, c.Rest, c.RowKey} {
		if given {
			sources++
		}
	}
	if sources != 1 {
		bad("say one of column, columns, value, expr, json and rest")
	}
	seen := nameSet{}
	for i, column := range c.Columns {
		if column == "" {
			bad("column %d of the list has no name", i+1)
		} else if !seen.add(column) {
			bad("column %q is named twice", column)
		}
	}
	if c.Family != "" {
		if err := loader.CheckFamily(c.Family); err != nil {
			bad("%w", err)
		}
	}
	switch {
	case c.QualifierFrom != "" && (c.Qualifier != "" || c.Rest || len(c.Columns) > 0 && !c.JSON):
		bad("qualifier_from is for one cell without a qualifier")
	case (c.JSON || c.Value != nil || c.Expr != "") && c.Qualifier == "" && c.QualifierFrom == "":
		bad("it needs a qualifier")
	case c.Qualifier != "" && (c.Rest || len(c.Columns) > 0 && !c.JSON):
		bad("a qualifier is for a single cell: the qualifiers of several are the columns' names")
	}
	if c.Rest && c.Type != "" && c.Type != "text" {
		bad("type %s: the rest is text", c.Type)
	}
	if c.JSON && c.Type != "" && c.Type != "text" {
		bad("type %s: JSON is text", c.Type)
	}
	if e, err := c.Expression(); err != nil {
		errs = append(errs, err)
	} else if e != nil && keygen.KindOf(e) == keygen.KindBoolean && c.Type != "" && c.Type != "text" && c.Type != "boolean" {
		bad("type %s: the expression is a condition, which is text or boolean", c.Type)
	}
	c.validateEmpty(bad)
	convert, err := c.CellType().Converter()
	if err != nil {
		errs = append(errs, err)
	} else if c.Value != nil && convert != nil {
		if _, err := convert(nil, []byte(*c.Value)); err != nil {
			bad("value: %w", err)
		}
	}
	return errs
}

// validateEmpty reports errors in a cell's settings for empty values and NULL.
func (c CellSpec) validateEmpty(bad func(format string, args ...any)) {
	for _, v := range [][2]string{{"empty", c.Empty}, {"nulls", c.Nulls}} {
		switch {
		case v[1] == "":
		case v[1] != "skip" && v[1] != "store":
			bad("%s: %q is invalid: want skip or store", v[0], v[1])
		case c.Value != nil:
			bad("%s %s: the value is the same in every row", v[0], v[1])
		case v[1] == "store" && c.Type != "" && c.Type != "text":
			bad("%s store: readers of type %s cannot decode an empty cell", v[0], c.Type)
		}
	}
	if c.Empty == "skip" && c.Nulls == "store" {
		bad("nulls store and empty skip: NULL would be a cell where an empty text is none")
	}
}

// Expression returns the parsed Expr, nil if there is none.
func (c CellSpec) Expression() (keygen.Expr, error) {
	if c.Expr == "" {
		return nil, nil
	}
	e, err := keygen.ParseValue(c.Expr)
	if err == nil {
		_, err = expression.Compile(e, expression.Options{})
	}
	if err != nil {
		return nil, fmt.Errorf("expr: %w", err)
	}
	return e, nil
}

// CellType returns the type of the cell's values.
func (c CellSpec) CellType() celltype.Type {
	return celltype.Type{Type: c.Type, Encoding: c.Encoding, Layout: c.Layout, Zone: c.Zone}
}
