package cells

import (
	"encoding/binary"

	"bulkload/pkg/partition/extsort"
)

// RowForm rebuilds the sorted form of a row from the cells of a table.
type RowForm struct {
	buf     []byte
	data    []byte
	lengths []int
	offsets []uint32
}

// Append returns the row's form, valid until the next call. Values are in the
// order of qualifiers, nil for no cell.
func (f *RowForm) Append(key []byte, values [][]byte) []byte {
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
