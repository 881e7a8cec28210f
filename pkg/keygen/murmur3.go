package keygen

import (
	"encoding/binary"
	"math/bits"
)

// murmur3 returns MurmurHash3_x86_32 of the bytes: the result of HBase's org.apache.hadoop.hbase.util.MurmurHash3 with seed as its initval,
// and of Guava's Hashing.murmur3_32_fixed(seed) for bytes.
func murmur3(b []byte, seed uint32) int32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := seed, len(b)
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b)
		h ^= bits.RotateLeft32(k*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	k := uint32(0)
	for i := len(b) - 1; i >= 0; i-- {
		k = k<<8 | uint32(b[i])
	}
	h ^= bits.RotateLeft32(k*c1, 15) * c2
	h ^= uint32(n)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return int32(h ^ h>>16)
}
