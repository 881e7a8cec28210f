package job

import (
	"encoding/binary"
	"fmt"

	"bulkload/pkg/partition/extsort"

	"github.com/cespare/xxhash/v2"
)

// A Digest stands for a set of rows: how many, how many cells they have, and
// a sum that neither the order of rows nor their spread over regions changes.
type Digest struct {
	Rows  int64  `json:"rows"`
	Cells int64  `json:"cells"`
	Sum   uint64 `json:"sum,string"`
}

// String prints a digest for people and messages.
func (d Digest) String() string {
	return fmt.Sprintf("%d rows, %d cells, digest %016x", d.Rows, d.Cells, d.Sum)
}

func (d *Digest) add(o Digest) {
	d.Rows += o.Rows
	d.Cells += o.Cells
	d.Sum += o.Sum
}

// addRow adds one row in the form that it has in the sort: u16 length of the
// key, little-endian, the key, and the payload of its values.
func (d *Digest) addRow(row []byte, cells int) {
	d.Rows++
	d.Cells += int64(cells)
	d.Sum += xxhash.Sum64(row)
}

// rowForm makes that form of a row again, from what a table gives.
type rowForm struct {
	buf     []byte
	data    []byte
	lengths []int
	offsets []uint32
}

// append gives the row's form, valid until the next call; values are in the
// order of qualifiers, nil for no cell.
func (f *rowForm) append(key []byte, values [][]byte) []byte {
	f.lengths, f.offsets, f.data = f.lengths[:0], f.offsets[:0], f.data[:0]
	for _, v := range values {
		n := len(v)
		if v == nil {
			n = -1
		}
		f.lengths = append(f.lengths, n)
		f.offsets = append(f.offsets, uint32(len(f.data)))
		f.data = append(f.data, v...)
	}
	n := 2 + len(key) + extsort.PayloadSize(f.lengths)
	if cap(f.buf) < n {
		f.buf = make([]byte, n+n/2)
	}
	b := f.buf[:n]
	binary.LittleEndian.PutUint16(b, uint16(len(key)))
	copy(b[2:], key)
	extsort.Fill(b[2+len(key):], f.lengths, f.data, f.offsets)
	return b
}
