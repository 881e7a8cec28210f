package tablesource

import (
	"cmp"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hfile"
	"bulkload/pkg/setting"
)

// Cells are the cells of a range of rows, in the order of HBase: the newest of each column, or several versions of it. A [snapshot.Scan] is some,
// and so is a [Scan].
type Cells interface {
	Next() bool
	Cell() *hfile.Cell // valid until the next call of Next
	NewRow() bool
	Err() error
}

// ByTime gives the versions of a row one after the other, as if each was a row: first the cells of the newest timestamp, in the order of
// their columns, then those of the next one. It holds one row, and is used by one goroutine.
type ByTime struct {
	of    Cells
	most  int // bytes of a row
	begun bool
	ended bool
	err   error

	buf   []byte
	cells []hfile.Cell // of the row, by time
	at    int
}

// NewByTime reads cells whose rows have at most a number of bytes with all their versions. A larger one ends it with an error.
func NewByTime(of Cells, most int) *ByTime { return &ByTime{of: of, most: most} }

// Next moves to the next cell; false at the end and on an error.
func (b *ByTime) Next() bool {
	if b.at++; b.at < len(b.cells) {
		return true
	}
	b.at, b.cells, b.buf = 0, b.cells[:0], b.buf[:0]
	if !b.begun && !b.ended {
		b.begun = b.of.Next()
		b.ended = !b.begun
	}
	if b.ended || b.err != nil {
		return false
	}
	for again := true; again; again = b.begun && !b.of.NewRow() {
		if b.err = b.add(b.of.Cell()); b.err != nil {
			b.cells = nil
			return false
		}
		b.begun = b.of.Next()
	}
	if b.ended = !b.begun; b.ended && b.of.Err() != nil {
		b.cells = nil // the row may lack cells
		return false
	}
	slices.SortStableFunc(b.cells, func(x, y hfile.Cell) int { return cmp.Compare(y.Timestamp, x.Timestamp) })
	return true
}

// add copies a cell of the current row.
func (b *ByTime) add(c *hfile.Cell) error {
	if len(b.buf)+len(c.Row)+len(c.Family)+len(c.Qualifier)+len(c.Value) > b.most {
		return fail.With(fail.Input, fail.AboutData(c.Row, "%w", setting.Errorf("a row has more than %s in its versions, which is all that is held of one: read fewer versions", setting.Count(b.most, "byte"))))
	}
	is := hfile.Cell{Timestamp: c.Timestamp, Type: c.Type}
	if len(b.cells) > 0 {
		is.Row = b.cells[0].Row
	} else {
		is.Row = b.put(c.Row)
	}
	is.Family, is.Qualifier, is.Value = b.put(c.Family), b.put(c.Qualifier), b.put(c.Value)
	b.cells = append(b.cells, is)
	return nil
}

// put copies bytes to where they stay until the next row: what has outgrown the buffer stays where it was.
func (b *ByTime) put(v []byte) []byte {
	at := len(b.buf)
	b.buf = append(b.buf, v...)
	return b.buf[at:len(b.buf):len(b.buf)]
}

// Cell returns the current cell. Its slices are valid until the next call of Next.
func (b *ByTime) Cell() *hfile.Cell { return &b.cells[b.at] }

// NewRow reports whether the current cell is the first of its row and time.
func (b *ByTime) NewRow() bool {
	return b.at == 0 || b.cells[b.at].Timestamp != b.cells[b.at-1].Timestamp
}

// Err returns the error that ended the cells, nil at their regular end.
func (b *ByTime) Err() error {
	if b.err != nil {
		return b.err
	}
	return b.of.Err()
}

// records returns the cells of a scan as records have them: rows, or their versions.
func records(sc Cells, versions int) Cells {
	if versions == 0 {
		return sc
	}
	return NewByTime(sc, scanRow)
}
