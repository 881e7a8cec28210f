package charset

import (
	"encoding/binary"
	"unicode/utf8"
)

// A form is the way in which a set encodes characters.
type form uint8

const (
	single  form = iota // one byte each
	double              // one byte, or a lead byte and a trail byte
	gb18030             // one byte, two, or four: lead, digit, lead, digit
	eucJP               // one byte, two, or three after 8F
	utf8Text
	utf16Text
)

// Ahead is the number of bytes after a block that [Charset.Starts] needs, unless the text ends there: the longest character has Ahead bytes after its
// first.
const Ahead = 3

// A Charset is a character set, returned by [Lookup]. It is immutable: any number of goroutines may use it.
type Charset struct {
	name string
	form form
	safe byte
	// order is the byte order of utf16Text; nil if a byte order mark defines it.
	order binary.ByteOrder
	// asciiTrail means that in a double set any byte from 40 to 7E forms a pair with a preceding lead byte, even if the pair is not a character.
	asciiTrail bool
	// plain means that every byte from 81 to FE is a lead byte, and forms a pair with any byte from 80 to FE.
	plain bool
	*tables
}

// Name returns the set's canonical name, which [Lookup] accepts.
func (c *Charset) Name() string { return c.name }

// Single reports whether each byte is a character.
func (c *Charset) Single() bool { return c.form == single }

// Safe returns the bound below which a byte is always the ASCII character, at any position and in damaged text. A separator, quote or escape below it
// can be searched for in the raw bytes; others need [Charset.Starts]. It is 0 for UTF-16, whose text must be decoded first ([Charset.NewReader]).
func (c *Charset) Safe() byte { return c.safe }

// Append decodes src to UTF-8 and appends it to dst. Bytes that are not a character of the set become U+FFFD; bad is the offset in src of the first
// such sequence, -1 if there is none. A U+FFFD that is encoded in src is a valid character. A byte order mark is decoded like any other character,
// except in "utf-16", where src must begin with a mark: it defines the byte order and is left out.
//
// Append allocates only to grow dst. It may write after the end of the result, up to its capacity. dst and src must not overlap.
func (c *Charset) Append(dst, src []byte) (out []byte, bad int) {
	out, _, bad = c.decode(dst, src, len(src))
	return out, bad
}

// decode appends the characters that begin before end; it may read all of src. n is the offset of the next character.
func (c *Charset) decode(dst, src []byte, end int) (out []byte, n, bad int) {
	switch c.form {
	case single:
		return c.decodeSingle(dst, src[:end])
	case utf8Text:
		return decodeUTF8(dst, src, end)
	case utf16Text:
		return c.decodeUTF16(dst, src, end)
	default:
		return c.decodePairs(dst, src, end)
	}
}

// size returns the number of bytes of the first character of p, or of the sequence that Append replaces as one bad character: 1 to 4, at most len(p),
// which is not 0. For UTF-16 it is the size of a code unit.
func (c *Charset) size(p []byte) int {
	switch c.form {
	case single:
		return 1
	case utf8Text:
		_, n := utf8.DecodeRune(p)
		return n
	case utf16Text:
		return min(2, len(p))
	}
	if p[0] < utf8.RuneSelf || len(p) == 1 {
		return 1
	}
	switch {
	case c.paired(p[0], p[1]):
		return 2
	case c.form == gb18030:
		_, n := c.four(p)
		return n
	case c.form == eucJP && p[0] == eucThree:
		_, n := c.three(p)
		return n
	}
	return 1
}
