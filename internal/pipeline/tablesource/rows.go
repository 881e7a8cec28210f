package tablesource

import (
	"cmp"
	"io"
	"math"
	"slices"

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
