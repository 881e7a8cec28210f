package jsonlines

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is the largest nesting depth of objects and arrays; the line's own object has depth 1.
const maxDepth = 512

// The functions of this file take a line and a position in it. They return the position after the text that they have
// read, or the position of a fault and the fault.

// ones has each byte set to 1, and tops has the top bit of each byte set.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// scanString reads a string from after its opening quote to after its closing one. escaped means that it has
// backslashes. appendUnescaped handles all escapes that scanString accepts.
//
// Each step compares eight bytes. In x-ones*c, a byte's top bit is set by a borrow if the byte of x is below c. A bit can be
// wrong only above a right one, and only the lowest set bit is used. The search does not stop at bytes with the top bit set:
// high records that there are some, and then the whole string is checked as UTF-8.
func scanString(b []byte, i int) (next int, escaped bool, f fault) {
	start := i
	var high uint64
	for {
		found := false
		for len(b)-i >= 8 {
			x := binary.LittleEndian.Uint64(b[i:])
			hit := (((x - 0x20*ones) | ((x ^ '"'*ones) - ones) | ((x ^ '\\'*ones) - ones)) &^ x) & tops
			if hit != 0 {
				n := bits.TrailingZeros64(hit) &^ 7
				high |= x & (1<<n - 1)
				i += n / 8
				found = true
				break
			}
			high |= x
			i += 8
		}
		for ; !found; i++ {
			if i >= len(b) {
				return i, escaped, faultEndString
			}
			c := b[i]
			if c < 0x20 || c == '"' || c == '\\' {
				break
			}
			high |= uint64(c)
		}
		switch b[i] {
		case '"':
			if high&tops != 0 && !utf8.Valid(b[start:i]) {
				return start + invalidUTF8(b[start:i]), escaped, faultUTF8
			}
			return i + 1, escaped, 0
		case '\\':
			escaped = true
			if i, f = scanEscape(b, i); f != 0 {
				return i, escaped, f
			}
		default:
			return i, escaped, faultControl
		}
	}
}

// invalidUTF8 returns the position of the first byte of text that is not part of a valid character.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(text)
}

// scanEscape reads an escape of a string, or both escapes of a surrogate pair. b[i] is its backslash.
func scanEscape(b []byte, i int) (next int, f fault) {
	if i+1 >= len(b) {
		return len(b), faultEndString
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, 0
	case 'u':
	default:
		return i, faultEscape
	}
	r, ok := hex4(b, i+2)
	if !ok {
		return i, faultHex
	}
	if r&^0x7ff != 0xd800 {
		return i + 6, 0
	}
	if r >= 0xdc00 || len(b)-i < 8 || b[i+6] != '\\' || b[i+7] != 'u' {
		return i, faultSurrogate
	}
	low, ok := hex4(b, i+8)
	if !ok {
		return i + 6, faultHex
	}
	if low&^0x3ff != 0xdc00 {
		return i, faultSurrogate
	}
	return i + 12, 0
}

// hex4 returns the number in the four hex digits at b[i].
func hex4(b []byte, i int) (r rune, ok bool) {
	if len(b)-i < 4 {
		return 0, false
	}
	for _, c := range b[i : i+4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case (c|0x20)-'a' <= 5:
			c = (c | 0x20) - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// skipBlanks returns the position of the next byte that is not one of JSON's blanks, or the line's end.
func skipBlanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// scanNumber reads a number, whose first character is a digit or a minus sign.
func scanNumber(b []byte, i int) (next int, f fault) {
	if b[i] == '-' {
		i++
		if i >= len(b) || b[i]-'0' > 9 {
			return i, faultMinus
		}
	}
	if b[i] == '0' {
		i++
		if i < len(b) && b[i]-'0' <= 9 {
			return i, faultZero
		}
	} else {
		i = skipDigits(b, i)
	}
	if i < len(b) && b[i] == '.' {
		i++
		if i >= len(b) || b[i]-'0' > 9 {
			return i, faultFraction
		}
		i = skipDigits(b, i)
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i >= len(b) || b[i]-'0' > 9 {
			return i, faultExponent
		}
		i = skipDigits(b, i)
	}
	return i, 0
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// scanScalar reads a value that is neither a string, an object nor an array. There is a byte at b[i].
func scanScalar(b []byte, i int) (next int, f fault) {
	word := ""
	switch c := b[i]; {
	case c == '-' || c-'0' <= 9:
		return scanNumber(b, i)
	case c == 't':
		word = "true"
	case c == 'f':
		word = "false"
	case c == 'n':
		word = "null"
	default:
		return i, faultValue
	}
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, faultWord
	}
	return i + len(word), 0
}

// appendUnescaped appends the text of a string; raw is the string without its quotes, which scanString accepted. The text
// is never longer than raw.
func appendUnescaped(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		for i < len(raw) && raw[i] == '\\' { // runs of escapes need no search
			n := 2
			switch c := raw[i+1]; c {
			case 'b':
				dst = append(dst, '\b')
			case 'f':
				dst = append(dst, '\f')
			case 'n':
				dst = append(dst, '\n')
			case 'r':
				dst = append(dst, '\r')
			case 't':
				dst = append(dst, '\t')
			case 'u':
				n = 6
				r, _ := hex4(raw, i+2)
				if utf16.IsSurrogate(r) {
					n = 12
					low, _ := hex4(raw, i+8)
					r = utf16.DecodeRune(r, low)
				}
				dst = utf8.AppendRune(dst, r)
			default:
				dst = append(dst, c)
			}
			i += n
		}
		raw = raw[i:]
	}
}
