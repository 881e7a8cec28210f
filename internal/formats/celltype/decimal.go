package celltype

import (
	"bytes"
	"encoding/binary"
	"math"
)

// MaxDigits is the largest number of digits of a decimal.
const MaxDigits = 1000

// decimalText is a parsed decimal number: digits × 10^-scale. The digits are those of the text, each 0 to 9, without the point and leading zeros;
// zero has none.
type decimalText struct {
	negative bool
	scale    int64
	digits   []byte
}

// parseDecimal parses the ASCII numbers that Java's BigDecimal accepts; buf holds the digits. why describes the fault, and is empty without one.
func parseDecimal(text []byte, buf *[MaxDigits]byte) (d decimalText, why string) {
	const syntax = "is not a decimal number"
	rest := text
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		d.negative, rest = rest[0] == '-', rest[1:]
	}
	if at := bytes.IndexAny(rest, "eE"); at >= 0 {
		exponent, bad := ParseLong(rest[at+1:])
		if bad != "" || exponent > math.MaxInt32 || exponent < -math.MaxInt32 {
			return d, "has an exponent that is not a number in range"
		}
		d.scale, rest = -exponent, rest[:at]
	}
	n, any, point := 0, false, false
	for _, c := range rest {
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
			return d, syntax
		}
		any = true
		if point {
			d.scale++
		}
		if n == 0 && c == '0' {
			continue
		}
		if n == MaxDigits {
			return d, "has more than 1000 digits"
		}
		buf[n] = c - '0'
		n++
	}
	if !any {
		return d, syntax
	}
	d.digits = buf[:n]
	return d, ""
}

// appendHBaseDecimal appends Bytes.toBytes(BigDecimal): the scale in 4 bytes, then the unscaled value in the fewest bytes of two's complement.
func appendHBaseDecimal(dst, text []byte) ([]byte, error) {
	var buf [MaxDigits]byte
	d, why := parseDecimal(text, &buf)
	if why == "" && (d.scale > math.MaxInt32 || d.scale < math.MinInt32) {
		why = "has a scale out of range"
	}
	if why != "" {
		return dst, ValueError(text, why+" (type decimal)")
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(int32(d.scale)))
	// The magnitude in limbs of 32 bits, the least first: 1000 digits are 3322 bits.
	var limbs [MaxDigits*10/3/32 + 1]uint32
	n := 0
	for _, digit := range d.digits {
		carry := uint64(digit)
		for i := range n {
			carry += uint64(limbs[i]) * 10
			limbs[i] = uint32(carry)
			carry >>= 32
		}
		if carry > 0 {
			limbs[n] = uint32(carry)
			n++
		}
	}
	if d.negative {
		carry := uint64(1)
		for i := range limbs {
			carry += uint64(^limbs[i])
			limbs[i] = uint32(carry)
			carry >>= 32
		}
	}
	sign := byte(0)
	if d.negative && n > 0 {
		sign = 0xff
	}
	// Leading bytes that only repeat the sign are left out.
	at, started := len(dst), false
	for i := 4*n - 1; i >= 0; i-- {
		b := byte(limbs[i/4] >> (8 * (i % 4)))
		if !started && b == sign {
			continue
		}
		if !started && (b^sign)&0x80 != 0 {
			dst = append(dst, sign)
		}
		started = true
		dst = append(dst, b)
	}
	if len(dst) == at {
		dst = append(dst, sign)
	}
	return dst, nil
}

// Limits of Phoenix's DECIMAL (PDataType, 5.1).
const (
	phoenixDigits   = 38
	phoenixBytes    = 21 // the largest encoded size; a negative number of this size has no end mark
	phoenixExponent = 65 // the bias of the stored exponent of 100
	phoenixLeast    = -63
	phoenixMost     = 62
)

// appendPhoenixDecimal appends Phoenix's DECIMAL, whose bytes sort like numbers: an exponent of 100, then digits of base 100, each plus one, without
// trailing zeros. For a negative number the exponent is inverted, each digit is 101 minus its value, and 102 ends the digits.
func appendPhoenixDecimal(dst, text []byte) ([]byte, error) {
	var buf [MaxDigits]byte
	d, why := parseDecimal(text, &buf)
	for why == "" && len(d.digits) > 0 && d.digits[len(d.digits)-1] == 0 {
		d.digits = d.digits[:len(d.digits)-1]
		d.scale--
	}
	if len(d.digits) > phoenixDigits {
		why = "has more than 38 digits"
	}
	// Pairs of digits begin at the point.
	first := int64(len(d.digits)) - d.scale // digits before the point
	odd := first&1 != 0
	exponent := (first+1)>>1 - 1 // of 100
	if why == "" && len(d.digits) > 0 && (exponent < phoenixLeast || exponent > phoenixMost) {
		why = "is out of range"
	}
	if why != "" {
		return dst, ValueError(text, why+" (type decimal of phoenix)")
	}
	if len(d.digits) == 0 {
		return append(dst, 0x80), nil
	}
	header := byte(exponent+phoenixExponent) | 0x80
	if d.negative {
		header = ^header
	}
	at := len(dst)
	dst = append(dst, header)
	for i := 0; i < len(d.digits); {
		pair := d.digits[i]
		i++
		if i > 1 || !odd { // otherwise it is the first pair, which has only one digit
			pair *= 10
			if i < len(d.digits) {
				pair += d.digits[i]
				i++
			}
		}
		if d.negative {
			dst = append(dst, 101-pair)
		} else {
			dst = append(dst, pair+1)
		}
	}
	if d.negative && len(dst)-at < phoenixBytes {
		dst = append(dst, 102)
	}
	return dst, nil
}

// SplitDecimal parses a decimal number: its digits, each 0 to 9, without leading zeros, times 10^-scale. buf holds the digits. For text that is not a
// decimal, why is the reason for a [ValueError].
func SplitDecimal(text []byte, buf *[MaxDigits]byte) (negative bool, digits []byte, scale int64, why string) {
	d, why := parseDecimal(text, buf)
	return d.negative, d.digits, d.scale, why
}
