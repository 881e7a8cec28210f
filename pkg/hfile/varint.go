package hfile

import (
	"encoding/binary"
	"math/bits"
)

// appendLEB appends v in LEB128: 7 bits per byte, low bits first. Values are lengths,
// so v is never negative except for trailer offsets, where -1 takes ten bytes.
func appendLEB(dst []byte, v int) []byte {
	if uint(v) < 0x80 {
		return append(dst, byte(v))
	}
	return binary.AppendUvarint(dst, uint64(v))
}

// appendVlong appends v as Hadoop's WritableUtils.writeVLong does.
func appendVlong(dst []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(dst, byte(v))
	}
	first := -112
	if v < 0 {
		v = ^v
		first = -120
	}
	n := (bits.Len64(uint64(v)) + 7) / 8
	dst = append(dst, byte(first-n))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}

// vlongSize returns the number of bytes that appendVlong writes for v.
func vlongSize(v int64) int {
	if v >= -112 && v <= 127 {
		return 1
	}
	if v < 0 {
		v = ^v
	}
	return 1 + (bits.Len64(uint64(v))+7)/8
}

// readVlong reads a number written by appendVlong and returns the number of
// bytes read, 0 if b is too short.
func readVlong(b []byte) (v int64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	first := int8(b[0])
	if first >= -112 {
		return int64(first), 1
	}
	size := int(-112 - int(first))
	negative := first < -120
	if negative {
		size = int(-120 - int(first))
	}
	if len(b) < 1+size {
		return 0, 0
	}
	for _, x := range b[1 : 1+size] {
		v = v<<8 | int64(x)
	}
	if negative {
		v = ^v
	}
	return v, 1 + size
}
