package source

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"time"
)

// appendTimestamp writes an instant, shifted to the zone if the column has one.
func (t *columnType) appendTimestamp(dst []byte, second, fraction int64, unit int) []byte {
	if t.zone != nil && t.zone != time.UTC {
		_, offset := time.Unix(second, 0).In(t.zone).Zone()
		second += int64(offset)
	}
	dst = append(appendDate(dst, floorDiv(second, 86400)), ' ')
	return appendClock(dst, floorMod(second, 86400), fraction, unit)
}

// appendDate writes the date of a day since 1970, in the Gregorian calendar extended to all times.
func appendDate(dst []byte, day int64) []byte {
	year, month, monthDay := time.Unix(day*86400, 0).UTC().Date()
	if year < 0 {
		dst, year = append(dst, '-'), -year
	}
	dst = appendPadded(dst, uint64(year), 4)
	dst = appendPadded(append(dst, '-'), uint64(month), 2)
	return appendPadded(append(dst, '-'), uint64(monthDay), 2)
}

// appendClock writes a time of day, with a fraction unless it is 0, without trailing zeros.
func appendClock(dst []byte, second, fraction int64, unit int) []byte {
	hour := second / 3600
	if second < 0 {
		dst, second, hour = append(dst, '-'), -second, -second/3600
	}
	dst = appendPadded(dst, uint64(hour), 2)
	dst = appendPadded(append(dst, ':'), uint64(second/60%60), 2)
	dst = appendPadded(append(dst, ':'), uint64(second%60), 2)
	if fraction == 0 {
		return dst
	}
	digits := 3
	for n := unit; n > 1000; n /= 1000 {
		digits += 3
	}
	for fraction%10 == 0 {
		fraction /= 10
		digits--
	}
	return appendPadded(append(dst, '.'), uint64(fraction), digits)
}

// appendPadded writes a number with at least n digits.
func appendPadded(dst []byte, v uint64, n int) []byte {
	var b [20]byte
	i := len(b)
	for ; v > 0 || n > 0; n-- {
		i--
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, b[i:]...)
}

// appendFloat writes the shortest decimal that reads back as the same number: without exponent from 1e-6 up to 1e21, as
// JSON and JavaScript do.
func appendFloat(dst []byte, f float64, size int) []byte {
	switch a := math.Abs(f); {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case a != 0 && (a < 1e-6 || a >= 1e21):
		return strconv.AppendFloat(dst, f, 'e', -1, size)
	default:
		return strconv.AppendFloat(dst, f, 'f', -1, size)
	}
}

// float16 is the value of a half-precision number.
func float16(b uint16) float64 {
	sign, exp, frac := 1.0, int(b>>10&0x1f), float64(b&0x3ff)
	if b>>15 != 0 {
		sign = -1
	}
	switch {
	case exp == 0x1f && frac != 0:
		return math.NaN()
	case exp == 0x1f:
		return sign * math.Inf(1)
	case exp == 0:
		return sign * math.Ldexp(frac, -24)
	}
	return sign * math.Ldexp(1+frac/1024, exp-15)
}

// appendDecimal writes a number in two's complement, its highest byte first, divided by 10^scale.
func appendDecimal(dst, v []byte, scale int) []byte {
	if len(v) == 0 {
		return appendDecimal128(dst, 0, 0, scale)
	}
	sign := byte(int8(v[0]) >> 7)
	for len(v) > 16 && v[0] == sign && v[1]&0x80 == sign&0x80 {
		v = v[1:]
	}
	if len(v) > 16 {
		n := new(big.Int).SetBytes(v)
		if sign != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
			dst = append(dst, '-')
		}
		return appendPoint(dst, n.Abs(n).Append(nil, 10), scale)
	}
	var b [16]byte
	for i := range b {
		b[i] = sign
	}
	copy(b[16-len(v):], v)
	return appendDecimal128(dst, int64(binary.BigEndian.Uint64(b[:])), binary.BigEndian.Uint64(b[8:]), scale)
}

// appendDecimal128 writes the number hi:lo divided by 10^scale.
func appendDecimal128(dst []byte, hi int64, lo uint64, scale int) []byte {
	h := uint64(hi)
	if hi < 0 {
		dst = append(dst, '-')
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		h, _ = bits.Sub64(0, h, borrow)
	}
	const e19 = 1e19
	var b [40]byte
	digits := b[:0]
	if h > 0 || lo >= e19 {
		q, r := bits.Div64(h, lo, e19) // h is at most 2^63, which is less
		digits = appendPadded(strconv.AppendUint(digits, q, 10), r, 19)
	} else {
		digits = strconv.AppendUint(digits, lo, 10)
	}
	return appendPoint(dst, digits, scale)
}

// appendPoint writes digits with a point before the last scale of them.
func appendPoint(dst, digits []byte, scale int) []byte {
	if scale == 0 {
		return append(dst, digits...)
	}
	if n := len(digits) - scale; n > 0 {
		dst = append(dst, digits[:n]...)
		digits = digits[n:]
	} else {
		dst = append(dst, '0')
	}
	dst = append(dst, '.')
	for range scale - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}
