package charset

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

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
