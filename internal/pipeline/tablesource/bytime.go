package tablesource

import (
	"cmp"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hfile"
	"bulkload/pkg/setting"
)

// Cells iterates over the cells of a range of rows, in HBase's order: the newest version of each column, or several versions. [snapshot.Scan]
// and [Scan] implement it.
type Cells interface {
	Next() bool
	Cell() *hfile.Cell // valid until the next call of Next
	NewRow() bool
	Err() error
}

// ByTime returns the versions of a row one after the other, as if each was a row: first the cells with the newest timestamp, in the
// order of their columns, then those with the next one. It holds one row in memory and belongs to one goroutine.
type ByTime struct {
	of    Cells
	most  int // maximum bytes of a row
	begun bool
	ended bool
	err   error

	buf   []byte
	cells []hfile.Cell // of the row, by time
	at    int
}

// NewByTime reads cells whose rows have at most the given number of bytes with all their versions. A larger row ends it with an error.
func NewByTime(of Cells, most int) *ByTime { return &ByTime{of: of, most: most} }

// Next moves to the next cell. It returns false at the end and on an error.
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

// put copies bytes to memory that stays valid until the next row: if the buffer grows, earlier bytes stay in the old one.
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

// records returns the cells of a scan grouped into records: rows, or their versions.
func records(sc Cells, versions int) Cells {
	if versions == 0 {
		return sc
	}
	return NewByTime(sc, scanRow)
}
