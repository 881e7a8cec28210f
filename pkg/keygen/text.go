package keygen

import (
	"encoding/hex"
	"unicode"
	"unicode/utf8"
)

// textOp appends the result of a function of its arguments' bytes.
type textOp struct {
	in   *input
	ints []int
	fn   func(dst, text []byte, ints []int) ([]byte, error)
}

func (t *textOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := t.in.bytes(fields)
	if err != nil {
		return dst, err
	}
	out, err := t.fn(dst, b, t.ints)
	if err != nil {
		return dst, t.in.fail(err)
	}
	if len(out) == len(dst) && !t.in.empty {
		return dst, t.in.fail(ErrEmpty) // it had only spaces
	}
	return out, nil
}

func fromText(fn func(dst, text []byte, ints []int) ([]byte, error), chars bool) func(*compiler, Call) (op, error) {
	return func(c *compiler, call Call) (op, error) {
		in, err := c.input(call.Args, chars)
		return &textOp{in: in, ints: call.Ints, fn: fn}, err
	}
}

// reverse works by code point, as StringBuilder.reverse does, so that the result is valid text.
func reverse(dst, b []byte, _ []int) ([]byte, error) {
	for len(b) > 0 {
		_, n := utf8.DecodeLastRune(b)
		dst = append(dst, b[len(b)-n:]...)
		b = b[:len(b)-n]
	}
	return dst, nil
}

func upper(dst, b []byte, _ []int) ([]byte, error) {
	for i := 0; i < len(b); {
		if c := b[i]; c < utf8.RuneSelf {
			dst = append(dst, upperByte(c))
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		dst = utf8.AppendRune(dst, unicode.ToUpper(r))
		i += n
	}
	return dst, nil
}

func lower(dst, b []byte, _ []int) ([]byte, error) {
	for i := 0; i < len(b); {
		if c := b[i]; c < utf8.RuneSelf {
			dst = append(dst, lowerByte(c))
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
		i += n
	}
	return dst, nil
}

// trim removes the same bytes as String.trim: those up to the space, at both ends.
func trim(dst, b []byte, _ []int) ([]byte, error) {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return append(dst, b...), nil
}

// substr returns a given number of characters, or all of them, starting at a position that is counted from 0, or from the end if it is negative.
// A text that is too short is an error, because the key would have a hole.
func substr(dst, b []byte, ints []int) ([]byte, error) {
	from := ints[0]
	if from < 0 {
		from += utf8.RuneCount(b)
	}
	start, ok := skipRunes(b, from)
	end := len(b)
	if ok && len(ints) > 1 {
		var n int
		n, ok = skipRunes(b[start:], ints[1])
		end = start + n
	}
	if !ok || start == end {
		return dst, valueError(b, "is %w: it has only %d characters", ErrShort, utf8.RuneCount(b))
	}
	return append(dst, b[start:end]...), nil
}

// skipRunes returns the length in bytes of the first n characters.
func skipRunes(b []byte, n int) (int, bool) {
	if n < 0 {
		return 0, false
	}
	at := 0
	for ; n > 0; n-- {
		if at == len(b) {
			return at, false
		}
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return at, true
}

// pad prepends zeros up to the width.
func pad(dst, b []byte, ints []int) ([]byte, error) {
	if len(b) > ints[0] {
		return dst, valueError(b, "is %w of %d bytes", ErrWide, ints[0])
	}
	for range ints[0] - len(b) {
		dst = append(dst, '0')
	}
	return append(dst, b...), nil
}

func toHex(dst, b []byte, _ []int) ([]byte, error) {
	if 2*len(b) > MaxKey {
		return dst, ErrLong // so that nested calls cannot grow without bound
	}
	return hex.AppendEncode(dst, b), nil
}

func fromHex(dst, b []byte, _ []int) ([]byte, error) {
	if len(b)%2 != 0 {
		return dst, valueError(b, "is %w", ErrHex)
	}
	for i := 0; i < len(b); i += 2 {
		hi, ok1 := hexDigit(b[i])
		lo, ok2 := hexDigit(b[i+1])
		if !ok1 || !ok2 {
			return dst, valueError(b, "is %w", ErrHex)
		}
		dst = append(dst, hi<<4|lo)
	}
	return dst, nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return (c | 0x20) - 'a' + 10, true
	}
	return 0, false
}
