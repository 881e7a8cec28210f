package tablesource

import (
	"io"
	"math"
	"slices"

	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
	"bulkload/pkg/source/span"
)

// scan is a range of rows that is being read: a [snapshot.Scan], or a [Scan].
type scan interface {
	Cells
	Position() int64
	Close() error
}

// rows are the rows of a region, or their versions.
type rows struct {
	scan    scan
	cells   Cells    // of the scan
	columns []column // in the order of cells
	row     int      // place of the key, −1 without
	newest  int      // place of the newest cell's timestamp, −1 without
	begun   bool     // the scan stands at the first cell of the next row
	ended   bool

	parser *keygen.KeyParser
	values [][]byte // that it gives
	places []int    // of these, −1 of those that are not asked for
}

// newRows has the columns that are cells, with the names of all. Versions that are not 0 make a record of each timestamp of a row.
func newRows(sc scan, versions int, columns []column, parser *keygen.KeyParser, names []string) *rows {
	r := &rows{scan: sc, cells: records(sc, versions), columns: columns, row: slices.Index(names, RowColumn), newest: slices.Index(names, StampColumn)}
	r.parse(parser, names)
	return r
}

// parse has columns taken out of row keys, if any of them is asked for.
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

// takeKey sets the columns of a row key.
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

// Next takes the cells of a record. Every row that has any cell is one, or each of its timestamps.
func (r *rows) Next(buf []byte, fields []source.Span) ([]byte, error) {
	if !r.begun && !r.ended {
		r.begun = r.cells.Next()
	}
	if !r.begun {
		r.ended = true
		if err := r.cells.Err(); err != nil {
			return buf, ByScans(err)
		}
		return buf, io.EOF
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
			buf = r.columns[next].take(buf, c, fields)
			next++ // of a column there is one cell
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
