package rowjson

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen/rowkey"
)

// Column is one member of a row's object.
type Column struct {
	Name              string // member name: the qualifier, or family:qualifier outside of the job's family or if the qualifier has a colon
	Family, Qualifier string
	Form              celltype.JSONForm
}

// Shape defines the members of rows and their order. Safe for concurrent use.
type Shape struct {
	// Columns are the first members, in this order, null where a row has no such cell.
	Columns []Column

	open   map[string]celltype.JSONForm // of cells that the job does not name, by family: see Open
	family string
	only   bool // only the Columns
	labels [][]byte
	at     map[string]map[string]int // family, qualifier: index in Columns
}

// New returns the shape of a job's rows.
func New(s spec.Spec) *Shape {
	shape := &Shape{family: s.FamilyName(), open: map[string]celltype.JSONForm{}}
	for family, types := range s.OpenTypes() {
		if shape.open[family] = celltype.BytesJSON(); len(types) == 1 {
			shape.open[family] = types[0].JSON()
		}
	}
	named := s.UsedColumns()
	seen := map[string]bool{}
	for _, c := range s.Entries() {
		names := c.ColumnNames()
		switch {
		case c.QualifierFrom != "":
			continue
		case c.Rest:
			names = nil
			for _, column := range s.Columns {
				if !slices.Contains(named, column) {
					names = append(names, column)
				}
			}
		case c.Qualifier != "":
			names = []string{c.Qualifier}
		}
		family := cmp.Or(c.Family, shape.family)
		for _, q := range names {
			col := Column{Name: Name(shape.family, family, q), Family: family, Qualifier: q, Form: c.CellType().JSON()}
			if !seen[col.Name] {
				seen[col.Name] = true
				shape.Columns = append(shape.Columns, col)
			}
		}
	}
	return shape.index()
}

// Name returns the name of a column in a job with the given own family, which no other column has. Bytes that are not UTF-8 are \xNN, as HBase writes them,
// and so are all in a name that has \x itself.
func Name(own, family, qualifier string) string {
	name := qualifier
	if family != own || strings.Contains(qualifier, ":") {
		name = family + ":" + qualifier
	}
	if !utf8.ValidString(name) || strings.Contains(name, `\x`) {
		return rowkey.String([]byte(name))
	}
	return name
}

// Open reports whether rows may have cells that the job does not name: cells of a mapping's rest, or cells whose qualifiers
// are values.
func (s *Shape) Open() bool { return len(s.open) > 0 }

// Has reports whether a name is that of one of the Columns.
func (s *Shape) Has(name string) bool {
	return slices.ContainsFunc(s.Columns, func(c Column) bool { return c.Name == name })
}

// ColumnError is the error of a column that rows of a job do not have, or of a column that is requested twice.
type ColumnError struct {
	Column string
	Twice  bool
}

func (e *ColumnError) Error() string {
	if e.Twice {
		return fmt.Sprintf("column %q is asked for twice", e.Column)
	}
	return fmt.Sprintf("no column %q", e.Column)
}

// Select returns the shape of only these columns, in this order. In a family that has cells that the job does not
// name, any column is allowed. A *[ColumnError] names a column that does not exist.
func (s *Shape) Select(names []string, split func(name, family string) (string, string)) (*Shape, error) {
	selected := &Shape{family: s.family, only: true}
	for _, name := range names {
		family, qualifier := split(name, s.family)
		form, open := s.open[family]
		col := Column{Name: Name(s.family, family, qualifier), Family: family, Qualifier: qualifier, Form: form}
		if i, ok := s.at[family][qualifier]; ok {
			col = s.Columns[i]
		} else if !open || qualifier == "" {
			return nil, &ColumnError{Column: name}
		}
		if slices.ContainsFunc(selected.Columns, func(c Column) bool { return c.Name == col.Name }) {
			return nil, &ColumnError{Column: name, Twice: true}
		}
		selected.Columns = append(selected.Columns, col)
	}
	return selected.index(), nil
}

// Texts returns the shape of only the Columns, with every value as a string, for rows whose values were converted to texts
// before.
func (s *Shape) Texts() *Shape {
	texts := *s
	texts.only, texts.Columns = true, slices.Clone(s.Columns)
	for i := range texts.Columns {
		texts.Columns[i].Form = celltype.Type{}.JSON()
	}
	return texts.index()
}

// index builds the lookup tables of encoders.
func (s *Shape) index() *Shape {
	s.labels = make([][]byte, len(s.Columns))
	s.at = map[string]map[string]int{}
	for i, c := range s.Columns {
		label, _ := celltype.AppendJSON(nil, []byte(c.Name)) // a name is valid UTF-8
		s.labels[i] = append(label, ':')
		if s.at[c.Family] == nil {
			s.at[c.Family] = map[string]int{}
		}
		s.at[c.Family][c.Qualifier] = i
	}
	return s
}
