package tablesource

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"bulkload/internal/model/choice"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
	"bulkload/pkg/source/span"
)

// scan is a running scan of a range of rows: a [snapshot.Scan], or a [Scan].
type scan interface {
	Cells
	Position() int64
	Close() error
}

// rows iterates over the rows of a region, or their versions.
type rows struct {
	scan    scan
	cells   Cells    // of the scan
	columns []column // in the order of cells
	row     int      // position of the key, −1 without
	newest  int      // position of the newest cell's timestamp, −1 without
	begun   bool     // the scan is at the first cell of the next row
	ended   bool

	parser *keygen.KeyParser
	values [][]byte // returned by the parser
	places []int    // positions of these values, −1 if not requested
}

// newRows returns the records of a scan, with the given columns; names are the names of all columns. If versions is not 0, each
// timestamp of a row makes a record.
func newRows(sc scan, versions int, columns []column, parser *keygen.KeyParser, names []string) *rows {
	r := &rows{scan: sc, cells: records(sc, versions), columns: columns, row: slices.Index(names, RowColumn), newest: slices.Index(names, StampColumn)}
	r.parse(parser, names)
	return r
}

// parse enables parsing of row keys, if any of their columns is requested.
func (r *rows) parse(parser *keygen.KeyParser, names []string) {
	if parser == nil {
		return
	}
	asked := false
	for _, name := range parser.Columns() {
		place := slices.Index(names, name)
		r.places, asked = append(r.places, place), asked || place >= 0
	}
	if asked {
		r.parser, r.values = parser, make([][]byte, len(r.places))
	}
}

// takeKey sets the columns from a row key.
func (r *rows) takeKey(buf, key []byte, fields []source.Span) ([]byte, error) {
	if r.row >= 0 {
		buf = put(buf, key, &fields[r.row])
	}
	if r.parser == nil {
		return buf, nil
	}
	if err := r.parser.Parse(key, r.values); err != nil {
		return buf, setting.Errorf("its row key cannot be taken apart by %s: %w", setting.ParseKey, err)
	}
	for i, place := range r.places {
		if place >= 0 {
			buf = put(buf, r.values[i], &fields[place])
		}
	}
	return buf, nil
}

var _ source.Rows = (*rows)(nil)

// Next reads the cells of a record. Every row with any cell is a record, or each of its timestamps is.
func (r *rows) Next(buf []byte, fields []source.Span) ([]byte, error) {
	if !r.begun && !r.ended {
		r.begun = r.cells.Next()
	}
	if !r.begun {
		r.ended = true
		return buf, cmp.Or(ByScans(r.cells.Err()), io.EOF)
	}
	for i := range fields {
		fields[i] = span.Null()
	}
	buf, err := r.takeKey(buf, r.cells.Cell().Row, fields)
	if err != nil {
		return buf, err
	}
	newest := int64(math.MinInt64)
	for next := 0; ; {
		c := r.cells.Cell()
		newest = max(newest, c.Timestamp)
		for next < len(r.columns) && r.columns[next].compare(c) < 0 {
			next++
		}
		if next < len(r.columns) && r.columns[next].compare(c) == 0 {
			buf = r.columns[next].store(buf, c, fields)
			next++ // there is one cell per column
		}
		if r.begun = r.cells.Next(); !r.begun || r.cells.NewRow() {
			if r.newest >= 0 {
				buf = putStamp(buf, newest, &fields[r.newest])
			}
			return buf, ByScans(r.cells.Err())
		}
	}
}

func (r *rows) Position() int64 { return r.scan.Position() }
func (r *rows) Close() error    { return r.scan.Close() }

const (
	// RowColumn is the column of the row key.
	RowColumn = "$row"
	// StampColumn is the timestamp of the row's newest cell, in milliseconds as a
	// decimal number. Followed by a colon and a column, it is the timestamp of
	// this column's cell.
	StampColumn = "$timestamp"
)

// A column holds a family and qualifier, and the positions of their values in a record.
type column struct {
	family, qualifier []byte
	place             int // of the value, −1 without
	stamp             int // of the timestamp, −1 without
}

func (c *column) compare(x *hfile.Cell) int {
	return cmp.Or(bytes.Compare(c.family, x.Family), bytes.Compare(c.qualifier, x.Qualifier))
}

// store stores the requested values of a cell.
func (c *column) store(buf []byte, x *hfile.Cell, fields []source.Span) []byte {
	if c.place >= 0 {
		buf = put(buf, x.Value, &fields[c.place])
	}
	if c.stamp >= 0 {
		buf = putStamp(buf, x.Timestamp, &fields[c.stamp])
	}
	return buf
}

// put appends a value and records its position.
func put(buf, value []byte, to *source.Span) []byte {
	*to = source.Span{Off: uint32(len(buf)), Len: uint32(len(value))}
	return append(buf, value...)
}

func putStamp(buf []byte, ts int64, to *source.Span) []byte {
	at := len(buf)
	buf = strconv.AppendInt(buf, ts, 10)
	*to = source.Span{Off: uint32(at), Len: uint32(len(buf) - at)}
	return buf
}

// columnsOf resolves columns to cells, in the order of cells: a name is family:qualifier
// or, for a table with one family, the qualifier only. It skips $row, $timestamp and the
// columns parsed from keys. It returns an error for a column that is not chosen.
func columnsOf(table string, families, names, parsed []string, chosen choice.Choice) ([]column, error) {
	var columns []column
	for i, name := range names {
		if name == RowColumn || name == StampColumn || slices.Contains(parsed, name) {
			continue
		}
		c := column{place: i, stamp: -1}
		if of, ok := strings.CutPrefix(name, StampColumn+":"); ok {
			name, c.place, c.stamp = of, -1, i
		} else if strings.HasPrefix(name, "$") {
			return nil, fmt.Errorf("column %q: of a row there are %s and %s; a qualifier that begins with $ is named with its family, as in %s:%s", name, RowColumn, StampColumn, families[0], name)
		}
		family, qualifier, err := split(table, families, name)
		if err != nil {
			return nil, err
		}
		if c.family, c.qualifier = []byte(family), []byte(qualifier); !chosen.Has(c.family, c.qualifier) {
			return nil, setting.Errorf("column %q: %s does not have it, so it would be NULL in every row: name it there too, or leave it out of %s", name, setting.Only, setting.Columns)
		}
		columns = append(columns, c)
	}
	slices.SortStableFunc(columns, func(a, b column) int {
		return cmp.Or(bytes.Compare(a.family, b.family), bytes.Compare(a.qualifier, b.qualifier))
	})
	return merged(columns, names)
}

// split returns the family and the qualifier of a column's name.
func split(table string, families []string, name string) (family, qualifier string, err error) {
	family, qualifier, ok := strings.Cut(name, ":")
	switch {
	case ok && slices.Contains(families, family):
		return family, qualifier, nil
	case len(families) == 1 && !ok:
		return families[0], name, nil
	case len(families) == 1:
		return "", "", fmt.Errorf("column %q: the table %s has the family %s; a qualifier with a colon is named with its family, as in %s:%s", name, table, families[0], families[0], name)
	case ok:
		return "", "", fmt.Errorf("column %q: the table %s has the families %s", name, table, strings.Join(families, ", "))
	}
	return "", "", fmt.Errorf("column %q: the table %s has the families %s: name the column with its own, as in %s:%s", name, table, strings.Join(families, ", "), families[0], name)
}

// merged merges the value and the timestamp of a column into one entry. The columns are sorted.
func merged(columns []column, names []string) ([]column, error) {
	var one []column
	for _, c := range columns {
		n := len(one)
		if n == 0 || !bytes.Equal(one[n-1].family, c.family) || !bytes.Equal(one[n-1].qualifier, c.qualifier) {
			one = append(one, c)
			continue
		}
		has := &one[n-1]
		for _, twice := range [][2]int{{has.place, c.place}, {has.stamp, c.stamp}} {
			if twice[0] >= 0 && twice[1] >= 0 {
				return nil, fmt.Errorf("columns %q and %q are one: name it once", names[twice[0]], names[twice[1]])
			}
		}
		has.place, has.stamp = max(has.place, c.place), max(has.stamp, c.stamp)
	}
	return one, nil
}
