package newkeys

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"bulkload/internal/model/manifest"
)

// hashRoom is how many bytes of a row are gathered before they are hashed.
const hashRoom = 64 << 10

// RowHash sums up the XXH3 of 128 bits of one row after the other. Tags are not in it: servers do not
// give them. It belongs to one goroutine.
type RowHash struct {
	Sum manifest.RowSum // of the rows that have ended

	cells []byte // of the row, those that are not hashed yet
	long  *xxh3.Hasher
	cell  int64 // of the row
	begun bool  // long has cells of the row
}

// Add takes the next cell of the row, in the order of cells.
func (h *RowHash) Add(family, qualifier []byte, timestamp int64, value []byte) {
	b := append(append(h.cells, byte(len(family))), family...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(qualifier)))
	b = append(b, qualifier...)
	b = binary.BigEndian.AppendUint64(b, uint64(timestamp))
	h.cells = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	h.cell++
	if len(h.cells)+len(value) <= hashRoom {
		h.cells = append(h.cells, value...)
		return
	}
	h.flush()
	h.write(value)
}

// flush hashes what is gathered of a row that is longer than most.
func (h *RowHash) flush() {
	h.write(h.cells)
	h.cells = h.cells[:0]
}

func (h *RowHash) write(b []byte) {
	if h.long == nil {
		h.long = xxh3.New()
	}
	if !h.begun {
		h.long.Reset()
		h.begun = true
	}
	h.long.Write(b) // never fails
}

// End adds the row to the sum, unless it has no cells.
func (h *RowHash) End() {
	if h.cell == 0 {
		return
	}
	var sum xxh3.Uint128
	if h.begun {
		h.flush()
		sum = h.long.Sum128()
	} else {
		sum = xxh3.Hash128(h.cells)
	}
	h.Sum.Add(manifest.RowSum{Rows: 1, Cells: h.cell, High: sum.Hi, Low: sum.Lo})
	h.drop()
}

// drop forgets the cells of the row.
func (h *RowHash) drop() {
	h.cells, h.cell, h.begun = h.cells[:0], 0, false
}
