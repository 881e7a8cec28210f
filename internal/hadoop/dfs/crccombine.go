package dfs

import "hash/crc32"

// combineCRC returns the CRC-32C of two adjoining pieces of bytes, given their checksums and the length of the
// second. It extends the first by as many zero bytes as the second has, by squaring the operator of one zero bit
// (crc32_combine of zlib; CrcUtil.compose of Hadoop 3.1 does the same).
func combineCRC(first, second uint32, size int64) uint32 {
	if size <= 0 {
		return first
	}
	// Column i is the result of shifting a zero bit into a checksum with only bit i set.
	var op [32]uint32
	op[0] = crc32.Castagnoli
	for i := 1; i < len(op); i++ {
		op[i] = 1 << (i - 1)
	}
	for range 3 { // one bit, two, four, a byte
		op = squared(&op)
	}
	for ; size > 0; size >>= 1 {
		if size&1 != 0 {
			first = applied(&op, first)
		}
		op = squared(&op)
	}
	return first ^ second
}

func applied(op *[32]uint32, v uint32) (sum uint32) {
	for i := 0; v != 0; i, v = i+1, v>>1 {
		if v&1 != 0 {
			sum ^= op[i]
		}
	}
	return sum
}

func squared(op *[32]uint32) (double [32]uint32) {
	for i, column := range op {
		double[i] = applied(op, column)
	}
	return double
}
