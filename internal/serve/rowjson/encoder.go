package rowjson

import (
	"bulkload/internal/formats/celltype"
	"bulkload/pkg/loader"
)

// Encoder encodes rows of one shape. It is not safe for concurrent use.
type Encoder struct {
	shape  *Shape
	cells  []*loader.Cell // cells of the row, by column
	others []*loader.Cell
	order  []int // column of the i-th cell of an earlier row, which later rows mostly repeat; -1: none
}

// NewEncoder returns an encoder for rows of a shape.
func NewEncoder(s *Shape) *Encoder {
	return &Encoder{shape: s, cells: make([]*loader.Cell, len(s.Columns)), order: make([]int, 0, len(s.Columns))}
}

// column returns the index in Columns of the i-th cell of a row, or -1.
func (e *Encoder) column(i int, c *loader.Cell) int {
	if i < len(e.order) && e.order[i] >= 0 {
		if col := &e.shape.Columns[e.order[i]]; col.Qualifier == string(c.Qualifier) && col.Family == string(c.Family) {
			return e.order[i]
		}
	}
	at, ok := e.shape.at[string(c.Family)][string(c.Qualifier)]
	if !ok {
		at = -1
	}
	switch {
	case i < len(e.order):
		e.order[i] = at
	case i == len(e.order) && i < maxOrder:
		e.order = append(e.order, at)
	}
	return at
}

// maxOrder is the number of cells of a row whose columns are cached.
const maxOrder = 1 << 10

// Append appends a row as an object. Its cells must be in the order of the table, with families and qualifiers
// ascending.
func (e *Encoder) Append(dst []byte, row loader.Row) []byte {
	clear(e.cells)
	e.others = e.others[:0]
	for i := range row.Cells {
		c := &row.Cells[i]
		if at := e.column(i, c); at >= 0 {
			e.cells[at] = c
		} else if !e.shape.only {
			e.others = append(e.others, c)
		}
	}
	dst = append(dst, '{')
	for i, label := range e.shape.labels {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, label...)
		if c := e.cells[i]; c != nil {
			dst = e.shape.Columns[i].Form.Append(dst, c.Value)
		} else {
			dst = append(dst, "null"...)
		}
	}
	for i, c := range e.others {
		if i > 0 || len(e.cells) > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendLabel(dst, c)
		dst = append(dst, ':')
		dst = e.shape.open[string(c.Family)].Append(dst, c.Value) // text if the job does not write there
	}
	clear(e.cells) // allow the row's cells to be freed
	clear(e.others)
	return append(dst, '}')
}

// appendLabel appends the member name of a cell that the job does not name.
func (e *Encoder) appendLabel(dst []byte, c *loader.Cell) []byte {
	dst, _ = celltype.AppendJSON(dst, []byte(Name(e.shape.family, string(c.Family), string(c.Qualifier)))) // a name is valid UTF-8
	return dst
}
