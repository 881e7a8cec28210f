package manifest

import (
	"fmt"

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
