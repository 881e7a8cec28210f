package manifest

import (
	"fmt"
	"math/bits"

	"bulkload/pkg/setting"
)

// A RowSum stands for a set of rows without their keys: how many, how many cells
// they have, and the sum of a hash of 128 bits of each row. A sum sees a row that is
// there twice, which an exclusive or would not.
type RowSum struct {
	Rows  int64  `json:"rows"`
	Cells int64  `json:"cells"`
	High  uint64 `json:"high,string"`
	Low   uint64 `json:"low,string"`
}

// Add joins two sets.
func (s *RowSum) Add(o RowSum) {
	s.Rows += o.Rows
	s.Cells += o.Cells
	var carry uint64
	s.Low, carry = bits.Add64(s.Low, o.Low, 0)
	s.High, _ = bits.Add64(s.High, o.High, carry)
}

// Sum returns the sum of the hashes in hexadecimal.
func (s RowSum) Sum() string { return fmt.Sprintf("%016x%016x", s.High, s.Low) }

// String prints it for people and messages.
func (s RowSum) String() string {
	return fmt.Sprintf("%s, %s, digest %s", setting.Count(s.Rows, "row"), setting.Count(s.Cells, "cell"), s.Sum())
}

// Digest returns the form of the sum that manifests store.
func (s RowSum) Digest() Digest { return Digest{Rows: s.Rows, Cells: s.Cells, Sum: s.Low} }
