package manifest

import (
	"fmt"
	"math/bits"

	"bulkload/pkg/setting"
)

// A RowSum identifies a set of rows regardless of their keys: by the numbers of rows
// and cells, and by the sum of a 128-bit hash of each row without its key. Unlike an
// exclusive or, a sum detects a row that occurs twice.
type RowSum struct {
	Rows  int64  `json:"rows"`
	Cells int64  `json:"cells"`
	High  uint64 `json:"high,string"`
	Low   uint64 `json:"low,string"`
}

// Add adds another set.
func (s *RowSum) Add(o RowSum) {
	s.Rows += o.Rows
	s.Cells += o.Cells
	var carry uint64
	s.Low, carry = bits.Add64(s.Low, o.Low, 0)
	s.High, _ = bits.Add64(s.High, o.High, carry)
}

// Sum returns the sum of the hashes in hexadecimal.
func (s RowSum) Sum() string { return fmt.Sprintf("%016x%016x", s.High, s.Low) }

// String returns a readable form for messages.
func (s RowSum) String() string {
	return fmt.Sprintf("%s, %s, digest %s", setting.Count(s.Rows, "row"), setting.Count(s.Cells, "cell"), s.Sum())
}

// Digest returns the form that manifests store, with the low 64 bits of the sum.
func (s RowSum) Digest() Digest { return Digest{Rows: s.Rows, Cells: s.Cells, Sum: s.Low} }
