package charset

import (
	"encoding/binary"
	"unicode/utf8"
)

// A form is how the characters of a set are in bytes.
type form uint8

const (
	single  form = iota // one byte each
	double              // one byte, or a lead byte and a trail byte
	gb18030             // one byte, two, or four: lead, digit, lead, digit
	eucJP               // one byte, two, or three after 8F
	utf8Text
	utf16Text
)

// Ahead is how many bytes after a block [Charset.Starts] has to see, unless
// the text ends there: a character has at most Ahead bytes after its first.
const Ahead = 3

// A Charset is a character set, got by [Lookup]. It does not change: any number
// of goroutines may use it.
type Charset struct {
	name string
	form form
	safe byte
	// order is of utf16Text alone; nil if a mark has to say it.
	order binary.ByteOrder
	// asciiTrail says of a double set that any byte from 40 to 7E makes a
	// pair with a lead byte before it, be the pair a character or not.
	asciiTrail bool
	// plain says that every byte from 81 to FE is a lead byte, and that it
	// makes a pair with any byte from 80 to FE.
	plain bool
	*tables
}

// Name returns the set's canonical name, which [Lookup] takes again.
func (c *Charset) Name() string { return c.name }

// Single says that each byte is a character.
func (c *Charset) Single() bool { return c.form == single }

// Safe returns the bound below which a byte is always the ASCII character itself,
// wherever it stands and however damaged the text around it is. A separator,
// quote or escape below it is found among the raw bytes; others need [Charset.Starts].
// It is 0 for UTF-16, whose text must be decoded first ([Charset.NewReader]).
func (c *Charset) Safe() byte { return c.safe }

// Append appends src, decoded to UTF-8, to dst. What is no character of the set
// becomes U+FFFD; bad is the offset in src of the first such sequence, -1 if
// there is none. U+FFFD that is encoded in src is a character like others.
// A byte order mark is a character too, but in "utf-16", where src must begin
// with one, which says the order of bytes and is left out.
//
// Append allocates only what dst lacks. It may write after the end of what it
// returns, up to its capacity. dst and src must not overlap.
func (c *Charset) Append(dst, src []byte) (out []byte, bad int) {
	out, _, bad = c.decode(dst, src, len(src))
	return out, bad
}

// decode appends the characters of src that begin before end, with all of src
// in view. n is where the next one begins.
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

// size returns the number of bytes of the character that p begins with, or of the
// sequence that Append takes for one bad character: 1 to 4, at most len(p),
// which is not 0. Of UTF-16 it is a code unit's.
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
