package rekey

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math/bits"

	"bulkload/pkg/manifest"
)

// A RowSum stands for a set of rows without their keys: how many, how many cells
// they have, and the sum of 128 bits of each row's SHA-256. A sum sees a row that
// is there twice, which an exclusive or would not. Tags are not in it: servers do
// not give them.
type RowSum struct {
	Rows, Cells int64
	High, Low   uint64
}

// Add joins two sets.
func (s *RowSum) Add(o RowSum) {
	s.Rows += o.Rows
	s.Cells += o.Cells
	var carry uint64
	s.Low, carry = bits.Add64(s.Low, o.Low, 0)
	s.High, _ = bits.Add64(s.High, o.High, carry)
}

// Sum is the sum of the hashes in hexadecimal.
func (s RowSum) Sum() string { return fmt.Sprintf("%016x%016x", s.High, s.Low) }

// String prints it for people and messages.
func (s RowSum) String() string {
	return fmt.Sprintf("%d rows, %d cells, digest %s", s.Rows, s.Cells, s.Sum())
}

// digest is what other parts of the program know of it.
func (s RowSum) digest() manifest.Digest {
	return manifest.Digest{Rows: s.Rows, Cells: s.Cells, Sum: s.Low}
}

// rowHash hashes one row after the other. It belongs to one goroutine.
type rowHash struct {
	sum  RowSum
	sha  hash.Hash
	head []byte
	out  []byte
	cell int64 // of the row
}

// add takes the next cell of the row, in the order of cells.
func (h *rowHash) add(family string, qualifier []byte, timestamp int64, value []byte) {
	h.head = append(append(h.head[:0], byte(len(family))), family...)
	h.rest(qualifier, timestamp, value)
}

// addBytes is add of a family that is no string.
func (h *rowHash) addBytes(family, qualifier []byte, timestamp int64, value []byte) {
	h.head = append(append(h.head[:0], byte(len(family))), family...)
	h.rest(qualifier, timestamp, value)
}

func (h *rowHash) rest(qualifier []byte, timestamp int64, value []byte) {
	if h.sha == nil {
		h.sha = sha256.New()
	}
	h.head = binary.BigEndian.AppendUint32(h.head, uint32(len(qualifier)))
	h.head = append(h.head, qualifier...)
	h.head = binary.BigEndian.AppendUint64(h.head, uint64(timestamp))
	h.head = binary.BigEndian.AppendUint32(h.head, uint32(len(value)))
	h.sha.Write(h.head) // never fails
	h.sha.Write(value)
	h.cell++
}

// end adds the row to the sum; one without cells is none.
func (h *rowHash) end() {
	if h.cell == 0 {
		return
	}
	h.out = h.sha.Sum(h.out[:0])
	h.sum.Add(RowSum{Rows: 1, Cells: h.cell, High: binary.BigEndian.Uint64(h.out), Low: binary.BigEndian.Uint64(h.out[8:])})
	h.sha.Reset()
	h.cell = 0
}

// drop forgets the cells of the row.
func (h *rowHash) drop() {
	if h.cell > 0 {
		h.sha.Reset()
		h.cell = 0
	}
}
