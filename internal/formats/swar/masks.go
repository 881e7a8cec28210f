// Package swar looks at 64 bytes of text at a time, eight in a word (SIMD within a
// register): a mask has a bit for each byte that is asked for, the first byte Lowest.
// Fields are a dozen bytes long, and a search for each would cost as much as they do.
package swar

import (
	"encoding/binary"
	"math/bits"
)

// Block is how many bytes the scanners look at together: one bit of a word each. Buffers have as many bytes of slack
// after their data, so that the last block can be loaded whole.
const Block = 64

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	// gather moves the highest bit of each byte into the top byte of the product, the first byte's bit Lowest.
	gather = 0x0002040810204081
)

// Spread returns a word of eight times the byte b.
func Spread(b byte) uint64 { return uint64(b) * lowBits }

// equal has the highest bit of each byte clear that equals the pattern's, and only there: the sum cannot carry from one
// byte into the next, which makes it exact where the shorter (x-1)&^x is not.
func equal(w, pattern uint64) uint64 {
	x := w ^ pattern
	return (x&^highBits + ^uint64(highBits)) | x
}

// highs gathers the highest bit of each byte of w, the first byte's lowest. The constants are given to it: see [Finder].
func highs(w, high, gather uint64) uint64 { return ((w & high) * gather) >> 56 }

// Two marks the bytes of a block that equal one of two patterns.
func Two(p *[Block]byte, a, b uint64) (m uint64) {
	w := binary.LittleEndian.Uint64(p[0:])
	m = highs(^(equal(w, a) & equal(w, b)), highBits, gather)
	w = binary.LittleEndian.Uint64(p[8:])
	m |= highs(^(equal(w, a)&equal(w, b)), highBits, gather) << 8
	w = binary.LittleEndian.Uint64(p[16:])
	m |= highs(^(equal(w, a)&equal(w, b)), highBits, gather) << 16
	w = binary.LittleEndian.Uint64(p[24:])
	m |= highs(^(equal(w, a)&equal(w, b)), highBits, gather) << 24
	w = binary.LittleEndian.Uint64(p[32:])
	m |= highs(^(equal(w, a)&equal(w, b)), highBits, gather) << 32
	w = binary.LittleEndian.Uint64(p[40:])
	m |= highs(^(equal(w, a)&equal(w, b)), highBits, gather) << 40
	w = binary.LittleEndian.Uint64(p[48:])
	m |= highs(^(equal(w, a)&equal(w, b)), highBits, gather) << 48
	w = binary.LittleEndian.Uint64(p[56:])
	m |= highs(^(equal(w, a)&equal(w, b)), highBits, gather) << 56
	return m
}

// QuotesAndEnds marks the quotes of a block, and its commas and line feeds.
func QuotesAndEnds(p *[Block]byte, comma uint64) (quotes, seps uint64) {
	const quote, lf = '"' * lowBits, '\n' * lowBits
	for i := 0; i < Block; i += 16 {
		w := binary.LittleEndian.Uint64(p[i:])
		v := binary.LittleEndian.Uint64(p[i+8:])
		q := highs(^equal(w, quote), highBits, gather)
		q |= highs(^equal(v, quote), highBits, gather) << 8
		s := highs(^(equal(w, comma) & equal(w, lf)), highBits, gather)
		s |= highs(^(equal(v, comma)&equal(v, lf)), highBits, gather) << 8
		quotes |= q << i
		seps |= s << i
	}
	return quotes, seps
}

// PrefixXor has each bit set that has an odd number of set bits at or below it: from an opening quote up to the byte
// before the closing one.
func PrefixXor(x uint64) uint64 {
	x ^= x << 1
	x ^= x << 2
	x ^= x << 4
	x ^= x << 8
	x ^= x << 16
	x ^= x << 32
	return x
}

// Tail keeps the bits of the first n bytes of a block.
func Tail(m uint64, n int) uint64 {
	if n >= Block {
		return m
	}
	return m & (1<<uint(n) - 1)
}

// Lowest returns the place of the Lowest set bit.
func Lowest(m uint64) int { return bits.TrailingZeros64(m) & (Block - 1) }

// Four marks the bytes of a block that equal one of four patterns.
func Four(p *[Block]byte, a, b, c, d uint64) (m uint64) {
	for i := 0; i < Block; i += 16 {
		w := binary.LittleEndian.Uint64(p[i:])
		v := binary.LittleEndian.Uint64(p[i+8:])
		s := highs(^(equal(w, a) & equal(w, b) & equal(w, c) & equal(w, d)), highBits, gather)
		s |= highs(^(equal(v, a)&equal(v, b)&equal(v, c)&equal(v, d)), highBits, gather) << 8
		m |= s << i
	}
	return m
}

// Three marks the bytes of a block that equal one of three patterns.
func Three(p *[Block]byte, a, b, c uint64) (m uint64) {
	for i := 0; i < Block; i += 16 {
		w := binary.LittleEndian.Uint64(p[i:])
		v := binary.LittleEndian.Uint64(p[i+8:])
		s := highs(^(equal(w, a) & equal(w, b) & equal(w, c)), highBits, gather)
		s |= highs(^(equal(v, a)&equal(v, b)&equal(v, c)), highBits, gather) << 8
		m |= s << i
	}
	return m
}

// ASCII says that no byte of a block is above 0x7f.
func ASCII(p *[Block]byte) bool {
	var w uint64
	for i := 0; i < Block; i += 8 {
		w |= binary.LittleEndian.Uint64(p[i:])
	}
	return w&highBits == 0
}
