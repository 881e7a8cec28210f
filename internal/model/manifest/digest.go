package manifest

import (
	"fmt"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"bulkload/pkg/setting"
)

// A Digest identifies a set of rows: the numbers of rows and cells, and a checksum
// that does not depend on the order of rows or their distribution over regions.
type Digest struct {
	Rows  int64  `json:"rows"`
	Cells int64  `json:"cells"`
	Sum   uint64 `json:"sum,string"`
}

// String returns a readable form for messages.
func (d Digest) String() string {
	return fmt.Sprintf("%s, %s, digest %016x", setting.Count(d.Rows, "row"), setting.Count(d.Cells, "cell"), d.Sum)
}

func (d *Digest) Add(o Digest) {
	d.Rows += o.Rows
	d.Cells += o.Cells
	d.Sum += o.Sum
}

// AddRow adds one row in its form in the sort: the u16 little-endian length of the
// key, the key, and the payload of its values.
func (d *Digest) AddRow(row []byte, cells int) { d.AddSum(xxhash.Sum64(row), cells) }

// AddSum adds a row whose checksum is known.
func (d *Digest) AddSum(sum uint64, cells int) {
	d.Rows++
	d.Cells += int64(cells)
	d.Sum += sum
}

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
