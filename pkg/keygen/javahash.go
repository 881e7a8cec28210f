package keygen

import "unicode/utf8"

// JavaHash returns Java's String.hashCode of a UTF-8 text: over UTF-16 units, wrapping in 32 bits. Bytes that are not UTF-8 count as
// U+FFFD, as Java decodes them; keys reject them before.
func JavaHash(text []byte) int32 {
	h := int32(0)
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			h = h*31 + int32(c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		i += n
		if r >= 0x10000 {
			r -= 0x10000
			h = h*31 + 0xd800 + (r >> 10)
			r = 0xdc00 + r&0x3ff
		}
		h = h*31 + r
	}
	return h
}
