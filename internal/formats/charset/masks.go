package charset

import "encoding/binary"

const (
	blockSize = 64
	lowBits   = 0x0101010101010101
	// gather moves the highest bit of each byte into the top byte of the
	// product, the first byte's bit lowest.
	gather = 0x0002040810204081
)

func word(b *[blockSize]byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// bitsOf returns the highest bits of a word's bytes, as byte number word of a mask.
func bitsOf(w uint64, word int) uint64 { return (((w & highBits) * gather) >> 56) << (8 * word) }

// highMask marks the bytes from 80 on.
func highMask(b *[blockSize]byte) uint64 {
	w0, w1, w2, w3 := word(b, 0), word(b, 8), word(b, 16), word(b, 24)
	w4, w5, w6, w7 := word(b, 32), word(b, 40), word(b, 48), word(b, 56)
	if (w0|w1|w2|w3|w4|w5|w6|w7)&highBits == 0 {
		return 0
	}
	return bitsOf(w0, 0) | bitsOf(w1, 1) | bitsOf(w2, 2) | bitsOf(w3, 3) |
		bitsOf(w4, 4) | bitsOf(w5, 5) | bitsOf(w6, 6) | bitsOf(w7, 7)
}

// sevenF sets the highest bit of each byte of a word that is 7F or FF.
func sevenF(w uint64) uint64 { return w&^highBits + lowBits }

// eighty sets the highest bit of each byte of a word that is 80.
func eighty(w uint64) uint64 { return w &^ (w&^highBits + ^uint64(highBits)) }

// edgeMasks mark the bytes 7F and FF, and the bytes 80.
func edgeMasks(b *[blockSize]byte) (edge, euro uint64) {
	w0, w1, w2, w3 := word(b, 0), word(b, 8), word(b, 16), word(b, 24)
	w4, w5, w6, w7 := word(b, 32), word(b, 40), word(b, 48), word(b, 56)
	if (sevenF(w0)|sevenF(w1)|sevenF(w2)|sevenF(w3)|sevenF(w4)|sevenF(w5)|sevenF(w6)|sevenF(w7))&highBits != 0 {
		edge = bitsOf(sevenF(w0), 0) | bitsOf(sevenF(w1), 1) | bitsOf(sevenF(w2), 2) | bitsOf(sevenF(w3), 3) |
			bitsOf(sevenF(w4), 4) | bitsOf(sevenF(w5), 5) | bitsOf(sevenF(w6), 6) | bitsOf(sevenF(w7), 7)
	}
	if (eighty(w0)|eighty(w1)|eighty(w2)|eighty(w3)|eighty(w4)|eighty(w5)|eighty(w6)|eighty(w7))&highBits != 0 {
		euro = bitsOf(eighty(w0), 0) | bitsOf(eighty(w1), 1) | bitsOf(eighty(w2), 2) | bitsOf(eighty(w3), 3) |
			bitsOf(eighty(w4), 4) | bitsOf(eighty(w5), 5) | bitsOf(eighty(w6), 6) | bitsOf(eighty(w7), 7)
	}
	return edge, euro
}

// below40Mask marks the bytes from 00 to 3F.
func below40Mask(b *[blockSize]byte) (m uint64) {
	for i := 0; i < blockSize; i += 8 {
		w := word(b, i)
		m |= bitsOf(^(w | w<<1), i/8)
	}
	return m
}

// continuationMask marks the bytes from 80 to BF.
func continuationMask(b *[blockSize]byte) (m uint64) {
	for i := 0; i < blockSize; i += 8 {
		w := word(b, i)
		m |= bitsOf(w&^(w<<1), i/8)
	}
	return m
}
