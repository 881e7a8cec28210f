package extsort

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"bulkload/pkg/setting"
)

// A payload holds a row's values: for each column its length plus one in
// LEB128, 0 for a column without a cell, and then the bytes of all values.

// PayloadSize returns the size of a payload with values of the given lengths. A
// negative length means that there is no cell.
func PayloadSize(lengths []int) int {
	n := len(lengths)
	for _, l := range lengths {
		n += max(l, 0)
		if l >= 0x7f {
			n += (bits.Len(uint(l+1)) - 1) / 7
		}
	}
	return n
}

// Fill writes a payload to dst, which must have its size. Value i is
// data[offsets[i]:][:lengths[i]]; a negative length means no cell. Bytes after
// dst, up to its capacity, may be overwritten.
func Fill(dst []byte, lengths []int, data []byte, offsets []uint32) {
	n := 0
	for _, l := range lengths {
		if uint(l+1) < 0x80 {
			dst[n] = byte(l + 1)
			n++
			continue
		}
		if l < 0 {
			dst[n] = 0
			n++
			continue
		}
		n += binary.PutUvarint(dst[n:], uint64(l+1))
	}
	// Most values are short: a fixed copy of sixteen bytes is cheaper than a call for fewer.
	room := dst[:cap(dst)]
	for i, l := range lengths {
		if l <= 0 {
			continue
		}
		off := int(offsets[i])
		if l <= 16 && off+16 <= len(data) && n+16 <= len(room) {
			*(*[16]byte)(room[n:]) = *(*[16]byte)(data[off:])
		} else {
			copy(room[n:n+l], data[off:off+l])
		}
		n += l
	}
}

// Lengths stores the lengths of a payload's values in lengths, -1 for no cell. It returns the concatenated values and the
// number of cells.
func Lengths(payload []byte, lengths []int32) (values []byte, cells int, err error) {
	at, total := 0, 0
	for i := range lengths {
		if at >= len(payload) {
			return nil, 0, errLengths()
		}
		l := uint64(payload[at])
		at++
		if l >= 0x80 {
			v, n := binary.Uvarint(payload[at-1:])
			if n <= 0 || v > math.MaxInt32 {
				return nil, 0, errLengths()
			}
			l, at = v, at-1+n
		}
		lengths[i] = int32(l) - 1
		if l > 0 {
			total += int(l - 1)
			cells++
		}
	}
	if at+total != len(payload) {
		return nil, 0, errRest(payload, at, total)
	}
	return payload[at:], cells, nil
}

// Values splits a payload into values, nil for no cell; an empty value is not
// nil. The values are parts of the payload. The caller must not write to the
// bytes after a value, up to its capacity.
func Values(payload []byte, values [][]byte) error {
	at := 0 // position in the lengths
	total := 0
	for range values {
		if at >= len(payload) {
			return errLengths()
		}
		l := uint64(payload[at])
		at++
		if l >= 0x80 {
			v, n := binary.Uvarint(payload[at-1:])
			if n <= 0 || v > math.MaxInt32 {
				return errLengths()
			}
			l, at = v, at-1+n
		}
		if l > 0 {
			total += int(l - 1)
		}
	}
	if at+total != len(payload) {
		return errRest(payload, at, total)
	}
	data := at
	at = 0
	for i := range values {
		l := uint64(payload[at])
		at++
		if l >= 0x80 {
			v, n := binary.Uvarint(payload[at-1:])
			l, at = v, at-1+n
		}
		if l == 0 {
			values[i] = nil
			continue
		}
		end := data + int(l-1)
		values[i] = payload[data:end]
		data = end
	}
	return nil
}

func errLengths() error { return fmt.Errorf("%w: a row's value lengths are cut off", ErrCorrupt) }

func errRest(payload []byte, at, total int) error {
	return fmt.Errorf("%w: a row's values have %s, its lengths say %d", ErrCorrupt, setting.Count(len(payload)-at, "byte"), total)
}
