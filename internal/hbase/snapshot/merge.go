package snapshot

import (
	"bytes"
	"cmp"
	"strings"

	"bulkload/pkg/hfile"
)

// merge returns the cells of several files in the order of HBase's KeyValueHeap:
// by [hfile.Compare], then the higher sequence id first, then the newer file. It
// is a heap of positions in the files, with the next cell on top.
type merge struct {
	heap  []place
	begun bool
	alone bool // no other file has a cell in the row of the cell on top
	err   error
}

// place is the current position in one file.
type place struct {
	cells    cells
	cell     *hfile.Cell
	same     bool // the cell is known to have the row of the cell before it
	sequence int64
	family   int // number of the family; the lower has the smaller name
	rank     int // a newer file of the family has a higher one
}

// newMerge merges files, which are positioned before their first cells.
func newMerge(places []place) (*merge, error) {
	m := &merge{heap: places[:0]}
	for _, p := range places {
		if p.cells.Next() {
			p.cell, p.sequence = p.cells.Cell(), p.cells.Sequence()
			m.heap = append(m.heap, p)
		} else if err := p.cells.Err(); err != nil {
			return nil, err
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m, nil
}

// next moves to the next cell. It is valid until the following call.
func (m *merge) next() *place {
	if m.begun && len(m.heap) > 0 {
		top := &m.heap[0]
		if top.cells.Next() {
			top.cell, top.sequence, top.same = top.cells.Cell(), top.cells.Sequence(), top.cells.SameRow()
			if top.same && m.alone {
				return top
			}
		} else {
			if m.err = top.cells.Err(); m.err != nil {
				return nil
			}
			last := len(m.heap) - 1
			m.heap[0] = m.heap[last]
			m.heap = m.heap[:last]
		}
		m.sink(0)
	}
	m.begun = true
	if m.err != nil || len(m.heap) == 0 {
		return nil
	}
	if top := &m.heap[0]; !top.same {
		m.alone = m.isAlone(top.cell.Row)
	}
	return &m.heap[0]
}

// isAlone reports whether the next cells of all other files are in later rows.
func (m *merge) isAlone(row []byte) bool {
	for i := 1; i < min(len(m.heap), 3); i++ {
		if bytes.Equal(m.heap[i].cell.Row, row) {
			return false
		}
	}
	return true
}

// sink restores the heap order below i.
func (m *merge) sink(i int) {
	h := m.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && sortsBefore(&h[child+1], &h[child]) {
			child++
		}
		if !sortsBefore(&h[child], &h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// sortsBefore reports whether a's cell comes before b's.
func sortsBefore(a, b *place) bool {
	x, y := a.cell, b.cell
	if c := bytes.Compare(x.Row, y.Row); c != 0 {
		return c < 0
	}
	if a.family != b.family {
		return a.family < b.family
	}
	if c := bytes.Compare(x.Qualifier, y.Qualifier); c != 0 {
		return c < 0
	}
	switch {
	case x.Timestamp != y.Timestamp:
		return x.Timestamp > y.Timestamp
	case x.Type != y.Type:
		return x.Type > y.Type
	case a.sequence != b.sequence:
		return a.sequence > b.sequence
	}
	return a.rank > b.rank
}

// compareAge orders files from old to new (StoreFileComparators.SEQ_ID, 2.6.4): by sequence
// id, then by size with the larger as the older, then by load time, then by name.
func compareAge(a, b *sequences) int {
	return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(b.size, a.size), cmp.Compare(a.loadTime, b.loadTime),
		strings.Compare(a.name, b.name))
}
