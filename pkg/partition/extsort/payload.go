package extsort

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A row's values travel as one payload: for each column a LEB length plus
// one, 0 for a column without a cell, and then the bytes of all values.

// PayloadSize is the room that values take as a payload; a negative length
// stands for no cell.
func PayloadSize(lengths []int) int {
	n := 0
	for _, l := range lengths {
		if l < 0 {
			n++
			continue
		}
		n += (bits.Len(uint(l+1))+6)/7 + l
	}
	return n
}

// PutLengths writes the lengths and gives what remains for the values.
func PutLengths(dst []byte, lengths []int) []byte {
	for _, l := range lengths {
		if l+1 < 0x80 {
			dst[0] = byte(l + 1)
			dst = dst[1:]
			continue
		}
		dst = dst[binary.PutUvarint(dst, uint64(l+1)):]
	}
	return dst
}

// Values takes a payload apart into values, nil for no cell; an empty value
// is not nil. The values are parts of the payload.
func Values(payload []byte, values [][]byte) error {
	rest := payload
	at := 0 // of the lengths
	total := 0
	for range values {
		l, n := binary.Uvarint(rest[at:])
		if n <= 0 {
			return fmt.Errorf("%w: a row's value lengths are cut off", ErrCorrupt)
		}
		at += n
		if l > 0 {
			total += int(l - 1)
		}
	}
	if at+total != len(payload) {
		return fmt.Errorf("%w: a row's values have %d bytes, its lengths say %d", ErrCorrupt, len(payload)-at, total)
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
		values[i] = payload[data:end:end]
		data = end
	}
	return nil
}
