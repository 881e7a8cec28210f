// Package swar searches 64 bytes of text at a time, eight in a word (SIMD within a
// register). A mask has a bit for each byte, the lowest bit for the first byte; the bit
// is set if the byte matches. Fields are often only a dozen bytes long, so a separate
// search for the end of each would cost too much.
package swar

import (
	"encoding/binary"
	"math/bits"
)

// Block is the number of bytes that are searched together: one for each bit of a word. Buffers have as many bytes of slack
// after their data, so that the last block can be loaded as a whole.
const Block = 64

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	// gather is a factor that collects bits: the top byte of the product has the highest bit of each byte, beginning with the first byte in the lowest bit.
	gather = 0x0002040810204081
)

// Spread returns a word whose eight bytes are all b.
func Spread(b byte) uint64 { return uint64(b) * lowBits }

// equal returns a word whose bytes have their highest bit clear exactly where w equals the pattern. The sum cannot carry from one
// byte into the next, so it is exact, unlike the shorter (x-1)&^x.
func equal(w, pattern uint64) uint64 {
	x := w ^ pattern
	return (x&^highBits + ^uint64(highBits)) | x
}

// highs returns the highest bits of the bytes of w, the first byte's as the lowest bit. The constants are parameters: see [Finder].
func highs(w, high, gather uint64) uint64 { return ((w & high) * gather) >> 56 }

// Two returns the mask of the bytes that equal one of two patterns.
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

// QuotesAndEnds returns the mask of the quotes, and that of the commas and line feeds. comma is a pattern.
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

// PrefixXor sets each bit that has an odd number of set bits of x at or below it. For a mask of quotes, these are the bits from an
// opening quote to the byte before the closing one.
func PrefixXor(x uint64) uint64 {
	x ^= x << 1
	x ^= x << 2
	x ^= x << 4
	x ^= x << 8
	x ^= x << 16
	x ^= x << 32
	return x
}

// Tail returns the bits of m for the first n bytes of a block.
func Tail(m uint64, n int) uint64 {
	if n >= Block {
		return m
	}
	return m & (1<<uint(n) - 1)
}

// Lowest returns the index of the lowest set bit.
func Lowest(m uint64) int { return bits.TrailingZeros64(m) & (Block - 1) }

// Four returns the mask of the bytes that equal one of four patterns.
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

// Three returns the mask of the bytes that equal one of three patterns.
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

// ASCII reports whether no byte of a block is above 0x7f.
func ASCII(p *[Block]byte) bool {
	var w uint64
	for i := 0; i < Block; i += 8 {
		w |= binary.LittleEndian.Uint64(p[i:])
	}
	return w&highBits == 0
}
