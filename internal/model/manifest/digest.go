package manifest

import (
	"fmt"

	"github.com/cespare/xxhash/v2"

	"bulkload/pkg/setting"
)

// A Digest stands for a set of rows: how many, how many cells they have, and
// a sum that neither the order of rows nor their spread over regions changes.
type Digest struct {
	Rows  int64  `json:"rows"`
	Cells int64  `json:"cells"`
	Sum   uint64 `json:"sum,string"`
}

// String returns a readable form of a digest.
func (d Digest) String() string {
	return fmt.Sprintf("%s, %s, digest %016x", setting.Count(d.Rows, "row"), setting.Count(d.Cells, "cell"), d.Sum)
}

func (d *Digest) Add(o Digest) {
	d.Rows += o.Rows
	d.Cells += o.Cells
	d.Sum += o.Sum
}

// AddRow adds one row in the form that it has in the sort: u16 length of the
// key, little-endian, the key, and the payload of its values.
func (d *Digest) AddRow(row []byte, cells int) { d.AddSum(xxhash.Sum64(row), cells) }

// AddSum is AddRow of a row whose sum is known.
func (d *Digest) AddSum(sum uint64, cells int) {
	d.Rows++
	d.Cells += int64(cells)
	d.Sum += sum
}
