package hfile

import (
	"encoding/binary"
	"math/bits"
)

// bloomHash is a hash function. Two calls of it, the second seeded by the first,
// choose a key's bits.
type bloomHash func(key []byte, seed uint32) uint32

// bloomHashes holds HBase's hash functions (hbase.hash.type; util.Hash, 2.6.4) by
// their stored codes.
var bloomHashes = [...]bloomHash{0: jenkins, hashMurmur: murmur2, 2: murmur3}

// jenkins is Bob Jenkins' lookup3, taken byte by byte.
func jenkins(key []byte, seed uint32) uint32 {
	a := 0xdeadbeef + uint32(len(key)) + seed
	b, c := a, a
	for ; len(key) > 12; key = key[12:] {
		a += binary.LittleEndian.Uint32(key)
		b += binary.LittleEndian.Uint32(key[4:])
		c += binary.LittleEndian.Uint32(key[8:])
		a = (a - c) ^ bits.RotateLeft32(c, 4)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 6)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 8)
		b += a
		a = (a - c) ^ bits.RotateLeft32(c, 16)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 19)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 4)
		b += a
	}
	if len(key) == 0 {
		return c
	}
	var last [12]byte
	copy(last[:], key)
	a += binary.LittleEndian.Uint32(last[:])
	b += binary.LittleEndian.Uint32(last[4:])
	c += binary.LittleEndian.Uint32(last[8:])
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}

// murmur3 is Austin Appleby's 32-bit Murmur 3.
func murmur3(key []byte, seed uint32) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := seed, len(key)
	for ; len(key) >= 4; key = key[4:] {
		h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(key)*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	if len(key) > 0 {
		var last [4]byte
		copy(last[:], key)
		h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(last[:])*c1, 15) * c2
	}
	h ^= uint32(n)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
