package avro

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"time"
)

// Values become the texts that Parquet's become: see pkg/source.

// appendInstant writes the date and the clock of a number of parts of a second since 1970, in a zone unless it is nil.
func appendInstant(dst []byte, v, unit int64, zone *time.Location) []byte {
	second, fraction := floorDiv(v, unit), floorMod(v, unit)
	if zone != nil && zone != time.UTC {
		_, offset := time.Unix(second, 0).In(zone).Zone()
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

// appendTime writes a time of day.
func appendTime(dst []byte, v, unit int64) []byte {
	second, fraction := v/unit, v%unit
	if v < 0 {
		dst, second, fraction = append(dst, '-'), -second, -fraction
	}
	return appendClock(dst, second, fraction, unit)
}

// appendClock writes hours, minutes and seconds, with a fraction unless it is 0, without trailing zeros.
func appendClock(dst []byte, second, fraction, unit int64) []byte {
	dst = appendPadded(dst, uint64(second/3600), 2)
	dst = appendPadded(append(dst, ':'), uint64(second/60%60), 2)
	dst = appendPadded(append(dst, ':'), uint64(second%60), 2)
	if fraction == 0 {
		return dst
	}
	digits := 0
	for ; unit > 1; unit /= 10 {
		digits++
	}
	for fraction%10 == 0 {
		fraction /= 10
		digits--
	}
	return appendPadded(append(dst, '.'), uint64(fraction), digits)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 {
	if m := a % b; m < 0 {
		return m + b
	} else {
		return m
	}
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

// appendFloat writes the shortest decimal that reads back as the same number of size bits: without exponent from 1e-6
// up to 1e21.
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

// appendUUID writes 16 bytes in groups of hexadecimal digits.
func appendUUID(dst, v []byte) []byte {
	const digits = "0123456789abcdef"
	for i, b := range v {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&0xf])
	}
	return dst
}

// maxDecimal is how many bytes a decimal's number may take, of about 2,460 digits. Writing it takes time in proportion
// to their square.
const maxDecimal = 1024

// significant is a number in two's complement without the bytes that only repeat its sign.
func significant(v []byte) []byte {
	for len(v) > 1 && (v[0] == 0 && v[1] < 0x80 || v[0] == 0xff && v[1] >= 0x80) {
		v = v[1:]
	}
	return v
}

// appendDecimal writes a number in two's complement, its highest byte first, divided by 10^scale. It allocates for more
// than 16 bytes only.
func appendDecimal(dst, v []byte, scale int) []byte {
	if len(v) == 0 {
		return appendDecimal128(dst, 0, 0, scale)
	}
	v = significant(v)
	negative := v[0] >= 0x80
	if len(v) > 16 {
		n := new(big.Int).SetBytes(v)
		if negative {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
			dst = append(dst, '-')
		}
		return appendPoint(dst, n.Abs(n).Append(nil, 10), scale)
	}
	var b [16]byte
	if negative {
		binary.BigEndian.PutUint64(b[:], math.MaxUint64)
		binary.BigEndian.PutUint64(b[8:], math.MaxUint64)
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
