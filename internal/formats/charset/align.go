package charset

import "unicode/utf8"

// Align returns the first character boundary of p at or after at, at most len(p). p must begin with a character. It searches backwards for a byte
// below [Charset.Safe], or the start of p, and decodes forward from there; so in text with digits, blanks and line ends it reads few bytes.
func (c *Charset) Align(p []byte, at int) int {
	at = max(at, 0)
	if at >= len(p) {
		return len(p)
	}
	switch c.form {
	case single:
		return at
	case utf8Text:
		// A character has at most three bytes after its first.
		for n := at; n < len(p) && n <= at+Ahead; n++ {
			if utf8.RuneStart(p[n]) {
				return n
			}
		}
		return at
	case utf16Text:
		return c.align16(p, at)
	}
	i := at
	for i > 0 && p[i] >= c.safe {
		i--
	}
	for i < at {
		i += c.size(p[i:])
	}
	return i
}

// align16 returns the first offset at or after at that is not the second half of a surrogate pair.
func (c *Charset) align16(p []byte, at int) int {
	at += at & 1
	if c.order == nil || at < 2 || at+2 > len(p) {
		return min(at, len(p))
	}
	if _, size := rune16(c.order, p[at-2:]); size == 4 {
		at += 2
	}
	return at
}
