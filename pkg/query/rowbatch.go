package query

import (
	"slices"

	"bulkload/pkg/loader"
)

// rowBatch is rows of its own, copied from a scan.
type rowBatch struct {
	rows  []loader.Row
	bytes int64 // what the rows take in memory
	data  []byte
	cells []loader.Cell
}

// cellOverhead is what a cell takes beside its bytes.
const cellOverhead = 3*24 + 8

// add copies a row. What is full is left to the rows in it and followed by
// something new, so that no row moves.
func (b *rowBatch) add(r loader.Row) {
	size := len(r.Key)
	for i := range r.Cells {
		size += len(r.Cells[i].Family) + len(r.Cells[i].Qualifier) + len(r.Cells[i].Value)
	}
	if cap(b.data)-len(b.data) < size {
		b.data = make([]byte, 0, max(size, min(2*cap(b.data), 1<<20), 4<<10))
	}
	if cap(b.cells)-len(b.cells) < len(r.Cells) {
		b.cells = make([]loader.Cell, 0, max(len(r.Cells), min(2*cap(b.cells), 1<<14), 64))
	}
	from := len(b.cells)
	row := loader.Row{Key: b.own(r.Key)}
	for i := range r.Cells {
		c := &r.Cells[i]
		b.cells = append(b.cells, loader.Cell{Family: b.own(c.Family), Qualifier: b.own(c.Qualifier), Value: b.own(c.Value), Timestamp: c.Timestamp})
	}
	row.Cells = slices.Clip(b.cells[from:])
	b.rows = append(b.rows, row)
	b.bytes += int64(size + cellOverhead*len(r.Cells) + 48)
}

func (b *rowBatch) own(p []byte) []byte {
	from := len(b.data)
	b.data = append(b.data, p...)
	return slices.Clip(b.data[from:])
}
