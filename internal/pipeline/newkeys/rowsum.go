package newkeys

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"bulkload/internal/model/manifest"
)

// hashRoom is the number of bytes of a row that are collected before they are hashed.
const hashRoom = 64 << 10

// RowHash sums the 128-bit XXH3 hashes of rows. Tags are excluded: servers do not return them. It
// belongs to one goroutine.
type RowHash struct {
	Sum manifest.RowSum // of the finished rows

	cells []byte // of the row, not hashed yet
	long  *xxh3.Hasher
	cell  int64 // number of cells of the row
	begun bool  // long has cells of the row
}

// Add adds the next cell of the row, in the order of cells.
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

// flush hashes the collected bytes of a row that is larger than hashRoom.
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

// drop discards the cells of the row.
func (h *RowHash) drop() {
	h.cells, h.cell, h.begun = h.cells[:0], 0, false
}
