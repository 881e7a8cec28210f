package query

import (
	"slices"
	"sync"

	"bulkload/pkg/loader"
)

// rowBatch holds rows that are copied from a scan.
type rowBatch struct {
	rows  []loader.Row
	bytes int64 // memory that the rows take
	data  []byte
	cells []loader.Cell
}

// cellOverhead is the memory of a cell besides its bytes.
const cellOverhead = 3*24 + 8

// rowOverhead is the memory of a row besides its cells and its key's bytes.
const rowOverhead = 48

func rowSize(r loader.Row) int64 {
	size := len(r.Key) + rowOverhead
	for i := range r.Cells {
		size += len(r.Cells[i].Family) + len(r.Cells[i].Qualifier) + len(r.Cells[i].Value) + cellOverhead
	}
	return int64(size)
}

// add copies a row. Full buffers stay with their rows, and a new buffer is allocated, so that no row moves.
func (b *rowBatch) add(r loader.Row) {
	size := rowSize(r)
	b.bytes += size
	size -= int64(rowOverhead + cellOverhead*len(r.Cells))
	if int64(cap(b.data)-len(b.data)) < size {
		b.data = make([]byte, 0, max(size, min(2*int64(cap(b.data)), 1<<20), 4<<10))
	}
	from := b.room(len(r.Cells))
	row := loader.Row{Key: b.own(r.Key)}
	for i := range r.Cells {
		c := &r.Cells[i]
		b.cells = append(b.cells, loader.Cell{Family: b.own(c.Family), Qualifier: b.own(c.Qualifier), Value: b.own(c.Value), Timestamp: c.Timestamp})
	}
	row.Cells = slices.Clip(b.cells[from:])
	b.rows = append(b.rows, row)
}

// room makes room for cells, and returns the index of the first one.
func (b *rowBatch) room(cells int) (from int) {
	if cap(b.cells)-len(b.cells) < cells {
		b.cells = make([]loader.Cell, 0, max(4*cells, min(2*cap(b.cells), 1<<14)))
	}
	return len(b.cells)
}

// refer adds a row without copying its bytes, which stay in the scan's response.
func (b *rowBatch) refer(r loader.Row) {
	b.bytes += rowSize(r)
	from := b.room(len(r.Cells))
	b.cells = append(b.cells, r.Cells...)
	b.rows = append(b.rows, loader.Row{Key: r.Key, Cells: slices.Clip(b.cells[from:])})
}

// empty returns the batch without rows. It keeps its last buffers.
func (b *rowBatch) empty() *rowBatch {
	clear(b.rows)
	clear(b.cells)
	b.rows, b.cells, b.data, b.bytes = b.rows[:0], b.cells[:0], b.data[:0], 0
	return b
}

func (b *rowBatch) own(p []byte) []byte {
	from := len(b.data)
	b.data = append(b.data, p...)
	return slices.Clip(b.data[from:])
}

// rowMemory counts the memory of the rows that a read holds, and requests more than its own share. Safe for
// concurrent use.
type rowMemory struct {
	most int64
	more func(bytes int64) bool // nil: no limit

	mu   sync.Mutex
	held int64
}

// add adds bytes that are held from now on.
func (m *rowMemory) add(bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held += bytes
	if over := m.held - m.most; over > 0 && m.more != nil {
		if !m.more(over) {
			return ErrMemory
		}
		m.most += over
	}
	return nil
}

// drop subtracts bytes that are no longer held.
func (m *rowMemory) drop(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held -= bytes
}
