package charset

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	highBits = 0x8080808080808080
	// chunk is the number of bytes decoded before dst is grown again.
	chunk = 2 << 10
	// slack is the number of bytes that may be written beyond three per byte of a chunk: the rest of a four-byte character, and a word.
	slack = 24
)

// room grows dst for n more bytes of source, and returns the free part after it. A source byte becomes at most three bytes: U+FFFD, or the euro sign.
func room(dst []byte, n int) (grown, free []byte) {
	dst = slices.Grow(dst, 3*n+slack)
	return dst, dst[len(dst):cap(dst)]
}

func (c *Charset) decodeSingle(dst, src []byte) (out []byte, n, bad int) {
	bad = -1
	ascii := c.safe > 0 // bytes below 0x80 are ASCII
	for i := 0; i < len(src); {
		end := min(i+chunk, len(src))
		var to []byte
		dst, to = room(dst, end-i)
		n := 0
		for i < end {
			if i+8 <= len(src) {
				w := binary.LittleEndian.Uint64(src[i:])
				if ascii && w&highBits == 0 {
					binary.LittleEndian.PutUint64(to[n:], w)
					i, n = i+8, n+8
					continue
				}
			}
			for stop := min(i+8, len(src)); i < stop; i++ {
				e := c.one[src[i]]
				if e&rare != 0 && bad < 0 {
					bad = i
				}
				binary.LittleEndian.PutUint32(to[n:], uint32(e))
				n += e.text()
			}
		}
		dst = dst[:len(dst)+n]
	}
	return dst, len(src), bad
}

// decodePairs decodes a set whose characters have one byte, two, and rarely more: it copies words of ASCII, looks up pairs, and calls decodeRare for
// the rest.
func (c *Charset) decodePairs(dst, src []byte, end int) (out []byte, i, bad int) {
	bad = -1
	two := c.two
	for i < end {
		stop := min(i+chunk, end)
		var to []byte
		dst, to = room(dst, stop-i)
		n := 0
		for i < stop {
			if i+8 <= len(src) {
				w := binary.LittleEndian.Uint64(src[i:])
				binary.LittleEndian.PutUint64(to[n:], w)
				if w&highBits == 0 && i+8 <= end {
					i, n = i+8, n+8
					continue
				}
				k := min(bits.TrailingZeros64(w&highBits)>>3, end-i)
				i, n = i+k, n+k
			} else if src[i] < utf8.RuneSelf {
				to[n] = src[i]
				i, n = i+1, n+1
				continue
			}
			for i < stop && src[i] >= utf8.RuneSelf {
				e := entry(rare)
				if i+1 < len(src) {
					e = two[uint16(src[i])<<8|uint16(src[i+1])]
				}
				// The branch is predictable, so the next pair need not wait for this entry.
				if e>>24 == ideograph {
					binary.LittleEndian.PutUint32(to[n:], uint32(e))
					i, n = i+2, n+3
					continue
				}
				if e&rare == 0 {
					binary.LittleEndian.PutUint32(to[n:], uint32(e))
					i, n = i+e.size(), n+e.text()
					continue
				}
				text, size, ok := c.decodeRare(src[i:])
				if !ok && bad < 0 {
					bad = i
				}
				i, n = i+size, n+copy(to[n:], text.bytes())
			}
		}
		dst = dst[:len(dst)+n]
	}
	return dst, i, bad
}

// decodeRare decodes the start of p: bytes that are not a character, the last byte of a text, or a character that the table of pairs does not
// contain.
func (c *Charset) decodeRare(p []byte) (t text, size int, ok bool) {
	if len(p) == 1 {
		e := c.one[p[0]]
		return e.short(), 1, e&rare == 0
	}
	e := c.two[uint16(p[0])<<8|uint16(p[1])]
	if e&long != 0 {
		return c.longs[e&0xffff], 2, true
	}
	r := utf8.RuneError
	switch {
	case c.form == gb18030 && e.size() == 1:
		r, size = c.four(p)
		ok = size == 4
	case c.form == eucJP && p[0] == eucThree:
		r, size = c.three(p)
		ok = r != utf8.RuneError
	default:
		size = e.size()
	}
	return textOf(r), size, ok
}

// decodeUTF8 copies UTF-8. Each byte that is not part of a character becomes U+FFFD.
func decodeUTF8(dst, src []byte, end int) (out []byte, n, bad int) {
	stop := end
	for stop < len(src) && !utf8.RuneStart(src[stop]) && stop < end+Ahead {
		stop++
	}
	if utf8.Valid(src[:stop]) {
		return append(dst, src[:stop]...), stop, -1
	}
	bad = -1
	for n < end {
		r, size := utf8.DecodeRune(src[n:])
		if r == utf8.RuneError && size == 1 && bad < 0 {
			bad = n
		}
		dst = utf8.AppendRune(dst, r)
		n += size
	}
	return dst, n, bad
}

// decodeUTF16 decodes the code units that begin before end, and appends them. A surrogate without its other half and an odd last byte are bad. All of
// src is bad if the set needs a byte order mark and src has none.
func (c *Charset) decodeUTF16(dst, src []byte, end int) (out []byte, n, bad int) {
	bad = -1
	order := c.order
	if order == nil {
		if order = markOf(src); order == nil && end > 0 {
			return utf8.AppendRune(dst, utf8.RuneError), len(src), 0
		}
		n = min(2, end)
	}
	for n < end {
		if order == binary.LittleEndian && n+8 <= end {
			// Four ASCII characters, the most common case in tables.
			if w := binary.LittleEndian.Uint64(src[n:]); w&0xff80ff80ff80ff80 == 0 {
				w |= w >> 8
				dst = append(dst, byte(w), byte(w>>16), byte(w>>32), byte(w>>48))
				n += 8
				continue
			}
		}
		r, size := rune16(order, src[n:])
		if r < 0 {
			r = utf8.RuneError
			if bad < 0 {
				bad = n
			}
		}
		dst = utf8.AppendRune(dst, r)
		n += size
	}
	return dst, n, bad
}

// rune16 returns the first character of p, -1 if there is none, and its size in bytes. p is not empty.
func rune16(order binary.ByteOrder, p []byte) (rune, int) {
	if len(p) < 2 {
		return -1, 1
	}
	r := rune(order.Uint16(p))
	if !utf16.IsSurrogate(r) {
		return r, 2
	}
	if len(p) >= 4 {
		if r = utf16.DecodeRune(r, rune(order.Uint16(p[2:]))); r != utf8.RuneError {
			return r, 4
		}
	}
	return -1, 2
}
