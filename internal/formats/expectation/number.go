package expectation

import (
	"bytes"
	"math"

	"bulkload/internal/formats/celltype"
)

// A Number is a decimal of any length: 0.digits × 10^exponent. Its first and last digits are not 0; zero has none, and no sign.
type Number struct {
	negative bool
	digits   []byte
	exponent int64
}

// ParseNumber parses text that the type decimal accepts. buf holds the digits.
func ParseNumber(text []byte, buf *[celltype.MaxDigits]byte) (n Number, ok bool) {
	negative, digits, scale, why := celltype.SplitDecimal(text, buf)
	if why != "" {
		return n, false
	}
	exponent := int64(len(digits)) - scale
	for len(digits) > 0 && digits[len(digits)-1] == 0 {
		digits = digits[:len(digits)-1]
	}
	if len(digits) == 0 {
		return Number{}, true
	}
	return Number{negative, digits, exponent}, true
}

// Clone returns a copy of the number that shares no memory.
func (n Number) Clone() Number {
	n.digits = bytes.Clone(n.digits)
	return n
}

func (n Number) sign() int {
	switch {
	case len(n.digits) == 0:
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// Compare compares two numbers exactly.
func (n Number) Compare(o Number) int {
	s := n.sign()
	if other := o.sign(); s != other || s == 0 {
		return s - other
	}
	if n.exponent != o.exponent {
		if n.exponent < o.exponent {
			return -s
		}
		return s
	}
	return s * bytes.Compare(n.digits, o.digits)
}

// Whole reports whether the number has no digits after the point.
func (n Number) Whole() bool { return n.exponent >= int64(len(n.digits)) }

// maxFloat is the number of digits that [Number.Float] uses.
const maxFloat = 18

// Float returns a finite number near n: the relative error is at most 10^-15, unless n is too large or too small for a float.
func (n Number) Float() float64 {
	digits := n.digits[:min(len(n.digits), maxFloat)]
	mantissa := int64(0)
	for _, d := range digits {
		mantissa = mantissa*10 + int64(d)
	}
	f := float64(mantissa)
	switch scale := n.exponent - int64(len(digits)); {
	case scale >= -22 && scale < 0:
		f /= math.Pow10(int(-scale))
	case scale < 0: // in two steps, because 10^-340 is 0 as a float, although a number of 18 digits times 10^-340 may not be
		f = f * math.Pow10(-maxFloat) * math.Pow10(int(max(scale+maxFloat, -400)))
	case scale > 0:
		f *= math.Pow10(int(min(scale, 400)))
	}
	if f = min(f, math.MaxFloat64); n.negative {
		return -f
	}
	return f
}
