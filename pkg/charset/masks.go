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

// highMask marks the bytes from 80 on.
func highMask(b *[blockSize]byte) (m uint64) {
	if (word(b, 0)|word(b, 8)|word(b, 16)|word(b, 24)|word(b, 32)|word(b, 40)|word(b, 48)|word(b, 56))&highBits == 0 {
		return 0
	}
	for i := 0; i < blockSize; i += 8 {
		m |= word(b, i) & highBits * gather >> 56 << i
	}
	return m
}

// edgeMasks mark the bytes 7F and FF, and the bytes 80.
func edgeMasks(b *[blockSize]byte) (sevenF, eighty uint64) {
	for i := 0; i < blockSize; i += 8 {
		w := word(b, i)
		low := w &^ highBits
		sevenF |= (low + lowBits) & highBits * gather >> 56 << i
		eighty |= w &^ (low + ^uint64(highBits)) & highBits * gather >> 56 << i
	}
	return sevenF, eighty
}

// below40Mask marks the bytes from 00 to 3F.
func below40Mask(b *[blockSize]byte) (m uint64) {
	for i := 0; i < blockSize; i += 8 {
		w := word(b, i)
		m |= ^(w | w<<1) & highBits * gather >> 56 << i
	}
	return m
}

// continuationMask marks the bytes from 80 to BF.
func continuationMask(b *[blockSize]byte) (m uint64) {
	for i := 0; i < blockSize; i += 8 {
		w := word(b, i)
		m |= w &^ (w << 1) & highBits * gather >> 56 << i
	}
	return m
}
