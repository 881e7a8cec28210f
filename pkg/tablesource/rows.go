package tablesource

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"bulkload/pkg/hfile"
	"bulkload/pkg/snapshot"
	"bulkload/pkg/source"
	"bulkload/pkg/span"
)

// RowColumn is the column that a row's key is in.
const RowColumn = "$row"

// A column is the cells of one qualifier, and their place in a record.
type column struct {
	family, qualifier []byte
	place             int
}

func (c *column) compare(x *hfile.Cell) int {
	return cmp.Or(bytes.Compare(c.family, x.Family), bytes.Compare(c.qualifier, x.Qualifier))
}

// columnsOf finds which cells columns are, in the order of cells: family:qualifier,
// or of a table with one family the qualifier alone. $row is none of them.
func columnsOf(s *snapshot.Snapshot, names []string) ([]column, error) {
	var families []string
	for _, f := range s.Families {
		families = append(families, f.Name)
	}
	var columns []column
	for i, name := range names {
		if name == RowColumn {
			continue
		}
		if strings.HasPrefix(name, "$") {
			return nil, fmt.Errorf("column %q: of a row there is %s; a qualifier that begins with $ is named with its family, as in %s:%s", name, RowColumn, families[0], name)
		}
		family, qualifier, ok := strings.Cut(name, ":")
		switch {
		case ok && slices.Contains(families, family):
		case len(families) == 1:
			family, qualifier = families[0], name
			if ok {
				return nil, fmt.Errorf("column %q: the table %s has the family %s; a qualifier with a colon is named with its family, as in %s:%s", name, s.Table, family, family, name)
			}
		case ok:
			return nil, fmt.Errorf("column %q: the table %s has the families %s", name, s.Table, strings.Join(families, ", "))
		default:
			return nil, fmt.Errorf("column %q: the table %s has the families %s: name the column with its own, as in %s:%s", name, s.Table, strings.Join(families, ", "), families[0], name)
		}
		columns = append(columns, column{[]byte(family), []byte(qualifier), i})
	}
	slices.SortFunc(columns, func(a, b column) int {
		return cmp.Or(bytes.Compare(a.family, b.family), bytes.Compare(a.qualifier, b.qualifier))
	})
	for i := range columns[:max(len(columns)-1, 0)] {
		a, b := columns[i], columns[i+1]
		if bytes.Equal(a.family, b.family) && bytes.Equal(a.qualifier, b.qualifier) {
			return nil, fmt.Errorf("columns %q and %q are one: name it once", names[a.place], names[b.place])
		}
	}
	return columns, nil
}

// rowColumn is the place of the row key, −1 without one.
func rowColumn(names []string) int { return slices.Index(names, RowColumn) }

// rows are the rows of a region.
type rows struct {
	scan    *snapshot.Scan
	columns []column // in the order of cells
	row     int
	begun   bool // the scan stands at the first cell of the next row
	ended   bool
}

var _ source.Rows = (*rows)(nil)

// Next takes the cells of a row. Every row that has any cell is a record.
func (r *rows) Next(buf []byte, fields []source.Span) ([]byte, error) {
	if !r.begun && !r.ended {
		r.begun = r.scan.Next()
	}
	if !r.begun {
		r.ended = true
		if err := r.scan.Err(); err != nil {
			return buf, err
		}
		return buf, io.EOF
	}
	for i := range fields {
		fields[i] = span.Null()
	}
	if r.row >= 0 {
		buf = put(buf, r.scan.Cell().Row, &fields[r.row])
	}
	for next := 0; ; {
		c := r.scan.Cell()
		for next < len(r.columns) && r.columns[next].compare(c) < 0 {
			next++
		}
		if next < len(r.columns) && r.columns[next].compare(c) == 0 {
			buf = put(buf, c.Value, &fields[r.columns[next].place])
			next++ // of a column there is one cell
		}
		if r.begun = r.scan.Next(); !r.begun || r.scan.NewRow() {
			return buf, r.scan.Err()
		}
	}
}

// put appends a value and notes where it is.
func put(buf, value []byte, to *source.Span) []byte {
	*to = source.Span{Off: uint32(len(buf)), Len: uint32(len(value))}
	return append(buf, value...)
}

func (r *rows) Position() int64 { return r.scan.Position() }
func (r *rows) Close() error    { return r.scan.Close() }
