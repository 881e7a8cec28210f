package swar

import "encoding/binary"

// A Finder finds two bytes in blocks of text, and separately a third one. All three must be below 0x80, because such bytes take fewer
// steps to find than arbitrary bytes. A Finder is immutable.
type Finder struct {
	a, b, c uint64 // patterns
	// Constants in variables, which stay in registers. The compiler would load constants again for each word, which costs 6 % of the time.
	low, high, gather uint64
}

// NewFinder returns a finder of the bytes a and b, and of c as the third.
func NewFinder(a, b, c byte) Finder {
	return Finder{a: Spread(a), b: Spread(b), c: Spread(c), low: ^uint64(highBits), high: highBits, gather: gather}
}

// Two sets masks to the bytes of text that are a or b. The text has [Block] bytes for each mask.
//
// A byte of (v^a)+low has its highest bit clear where the low seven bits of w equal a, and the OR with w sets that bit where w has it. No sum
// carries into the next byte. m collects the bits of the bytes that differ.
func (f *Finder) Two(masks []uint64, text []byte) {
	a, b, low, high, gather := f.a, f.b, f.low, f.high, f.gather
	for i := range masks {
		p := (*[Block]byte)(text[i*Block:])
		w := binary.LittleEndian.Uint64(p[0:])
		v := w & low
		m := highs(((v^a)+low)&((v^b)+low)|w, high, gather)
		w = binary.LittleEndian.Uint64(p[8:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 8
		w = binary.LittleEndian.Uint64(p[16:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 16
		w = binary.LittleEndian.Uint64(p[24:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 24
		w = binary.LittleEndian.Uint64(p[32:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 32
		w = binary.LittleEndian.Uint64(p[40:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 40
		w = binary.LittleEndian.Uint64(p[48:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 48
		w = binary.LittleEndian.Uint64(p[56:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 56
		masks[i] = ^m
	}
}

// TwoAlone is [Finder.Two], and reports whether no byte of the text is c.
func (f *Finder) TwoAlone(masks []uint64, text []byte) bool {
	a, b, c, low, high, gather := f.a, f.b, f.c, f.low, f.high, f.gather
	none := high
	for i := range masks {
		p := (*[Block]byte)(text[i*Block:])
		w := binary.LittleEndian.Uint64(p[0:])
		v := w & low
		m := highs(((v^a)+low)&((v^b)+low)|w, high, gather)
		none &= ((v ^ c) + low) | w
		w = binary.LittleEndian.Uint64(p[8:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 8
		none &= ((v ^ c) + low) | w
		w = binary.LittleEndian.Uint64(p[16:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 16
		none &= ((v ^ c) + low) | w
		w = binary.LittleEndian.Uint64(p[24:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 24
		none &= ((v ^ c) + low) | w
		w = binary.LittleEndian.Uint64(p[32:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 32
		none &= ((v ^ c) + low) | w
		w = binary.LittleEndian.Uint64(p[40:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 40
		none &= ((v ^ c) + low) | w
		w = binary.LittleEndian.Uint64(p[48:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 48
		none &= ((v ^ c) + low) | w
		w = binary.LittleEndian.Uint64(p[56:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 56
		none &= ((v ^ c) + low) | w
		masks[i] = ^m
	}
	return none == high
}

// TwoAndThird is [Finder.Two], and sets third to the bytes that are c.
func (f *Finder) TwoAndThird(masks, third []uint64, text []byte) {
	a, b, c, low, high, gather := f.a, f.b, f.c, f.low, f.high, f.gather
	third = third[:len(masks)]
	for i := range masks {
		p := (*[Block]byte)(text[i*Block:])
		w := binary.LittleEndian.Uint64(p[0:])
		v := w & low
		m := highs(((v^a)+low)&((v^b)+low)|w, high, gather)
		n := highs(((v^c)+low)|w, high, gather)
		w = binary.LittleEndian.Uint64(p[8:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 8
		n |= highs(((v^c)+low)|w, high, gather) << 8
		w = binary.LittleEndian.Uint64(p[16:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 16
		n |= highs(((v^c)+low)|w, high, gather) << 16
		w = binary.LittleEndian.Uint64(p[24:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 24
		n |= highs(((v^c)+low)|w, high, gather) << 24
		w = binary.LittleEndian.Uint64(p[32:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 32
		n |= highs(((v^c)+low)|w, high, gather) << 32
		w = binary.LittleEndian.Uint64(p[40:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 40
		n |= highs(((v^c)+low)|w, high, gather) << 40
		w = binary.LittleEndian.Uint64(p[48:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 48
		n |= highs(((v^c)+low)|w, high, gather) << 48
		w = binary.LittleEndian.Uint64(p[56:])
		v = w & low
		m |= highs(((v^a)+low)&((v^b)+low)|w, high, gather) << 56
		n |= highs(((v^c)+low)|w, high, gather) << 56
		masks[i], third[i] = ^m, ^n
	}
}
