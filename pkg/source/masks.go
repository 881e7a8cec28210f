package source

import (
	"encoding/binary"
	"math/bits"
)

// blockSize is how many bytes the scanners look at together: one bit of a word each. Buffers have as many bytes of slack
// behind their data, so that the last block can be loaded whole.
const blockSize = 64

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	// gather moves the highest bit of each byte into the top byte of the product, the first byte's bit lowest.
	gather = 0x0002040810204081
)

// spread is a word of eight times the byte b.
func spread(b byte) uint64 { return uint64(b) * lowBits }

// equal has the highest bit of each byte clear that equals the pattern's, and only there: the sum cannot carry from one
// byte into the next, which makes it exact where the shorter (x-1)&^x is not.
func equal(w, pattern uint64) uint64 {
	x := w ^ pattern
	return (x&^highBits + ^uint64(highBits)) | x
}

// sepMask marks the bytes of a block that equal one of two patterns.
func sepMask(p *[blockSize]byte, a, b uint64) (m uint64) {
	w := binary.LittleEndian.Uint64(p[0:])
	m = ^(equal(w, a) & equal(w, b)) & highBits * gather >> 56
	w = binary.LittleEndian.Uint64(p[8:])
	m |= ^(equal(w, a) & equal(w, b)) & highBits * gather >> 56 << 8
	w = binary.LittleEndian.Uint64(p[16:])
	m |= ^(equal(w, a) & equal(w, b)) & highBits * gather >> 56 << 16
	w = binary.LittleEndian.Uint64(p[24:])
	m |= ^(equal(w, a) & equal(w, b)) & highBits * gather >> 56 << 24
	w = binary.LittleEndian.Uint64(p[32:])
	m |= ^(equal(w, a) & equal(w, b)) & highBits * gather >> 56 << 32
	w = binary.LittleEndian.Uint64(p[40:])
	m |= ^(equal(w, a) & equal(w, b)) & highBits * gather >> 56 << 40
	w = binary.LittleEndian.Uint64(p[48:])
	m |= ^(equal(w, a) & equal(w, b)) & highBits * gather >> 56 << 48
	w = binary.LittleEndian.Uint64(p[56:])
	m |= ^(equal(w, a) & equal(w, b)) & highBits * gather >> 56 << 56
	return m
}

// csvMasks marks the quotes of a block, and its commas and line feeds.
func csvMasks(p *[blockSize]byte, comma uint64) (quotes, seps uint64) {
	const quote, lf = '"' * lowBits, '\n' * lowBits
	for i := 0; i < blockSize; i += 16 {
		w := binary.LittleEndian.Uint64(p[i:])
		v := binary.LittleEndian.Uint64(p[i+8:])
		q := ^equal(w, quote) & highBits * gather >> 56
		q |= ^equal(v, quote) & highBits * gather >> 56 << 8
		s := ^(equal(w, comma) & equal(w, lf)) & highBits * gather >> 56
		s |= ^(equal(v, comma) & equal(v, lf)) & highBits * gather >> 56 << 8
		quotes |= q << i
		seps |= s << i
	}
	return quotes, seps
}

// prefixXor has each bit set that has an odd number of set bits at or below it: from an opening quote up to the byte
// before the closing one.
func prefixXor(x uint64) uint64 {
	x ^= x << 1
	x ^= x << 2
	x ^= x << 4
	x ^= x << 8
	x ^= x << 16
	x ^= x << 32
	return x
}

// tail keeps the bits of the first n bytes of a block.
func tail(m uint64, n int) uint64 {
	if n >= blockSize {
		return m
	}
	return m & (1<<uint(n) - 1)
}

// lowest is the place of the lowest set bit.
func lowest(m uint64) int { return bits.TrailingZeros64(m) & (blockSize - 1) }
