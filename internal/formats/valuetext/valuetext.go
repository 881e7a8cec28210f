// Package valuetext converts values of binary formats to the text that inputs in
// text formats have: dates, numbers, decimals, JSON strings. Each function whose
// name begins with Append appends to dst and returns it. [Calendars] describes the
// calendars that the writer of a file has used.
package valuetext

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"time"
)

// AppendDate writes the date of a day since 1970, in the proleptic Gregorian calendar.
func AppendDate(dst []byte, day int64) []byte {
	year, month, monthDay := time.Unix(day*86400, 0).UTC().Date()
	if year < 0 {
		dst, year = append(dst, '-'), -year
	}
	dst = AppendPadded(dst, uint64(year), 4)
	dst = AppendPadded(append(dst, '-'), uint64(month), 2)
	return AppendPadded(append(dst, '-'), uint64(monthDay), 2)
}

// AppendPadded writes a number with at least n digits.
func AppendPadded(dst []byte, v uint64, n int) []byte {
	var b [20]byte
	i := len(b)
	for ; v > 0 || n > 0; n-- {
		i--
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, b[i:]...)
}

// AppendFloat writes the shortest decimal that parses as the same number of size bits. It has no exponent from 1e-6
// to below 1e21.
func AppendFloat(dst []byte, f float64, size int) []byte {
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

// Significant returns a big-endian number in two's complement without redundant sign bytes.
func Significant(v []byte) []byte {
	for len(v) > 1 && (v[0] == 0 && v[1] < 0x80 || v[0] == 0xff && v[1] >= 0x80) {
		v = v[1:]
	}
	return v
}

// MaxScale is the greatest scale of a decimal that a format may accept, because each digit after the point is a byte of every value.
const MaxScale = 4096

// maxDecimal is the greatest size in bytes of a decimal's number in a file, about 2,460 digits. The time to write it grows with the square of the number of
// digits.
const maxDecimal = 1024

// CheckDecimal returns an error for a number of more bytes than a decimal of a file may have.
func CheckDecimal(v []byte) error {
	if len(v) > maxDecimal && len(Significant(v)) > maxDecimal {
		return errors.New("a decimal has more than 1024 bytes")
	}
	return nil
}

// AppendDecimal writes a big-endian number in two's complement, divided by 10^scale. It allocates only for numbers of more
// than 16 bytes.
func AppendDecimal(dst, v []byte, scale int) []byte {
	if len(v) == 0 {
		return AppendDecimal128(dst, 0, 0, scale)
	}
	v = Significant(v)
	negative := v[0] >= 0x80
	if len(v) > 16 {
		n := new(big.Int).SetBytes(v)
		if negative {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
			dst = append(dst, '-')
		}
		return AppendPoint(dst, n.Abs(n).Append(nil, 10), scale)
	}
	var b [16]byte
	if negative {
		binary.BigEndian.PutUint64(b[:], math.MaxUint64)
		binary.BigEndian.PutUint64(b[8:], math.MaxUint64)
	}
	copy(b[16-len(v):], v)
	return AppendDecimal128(dst, int64(binary.BigEndian.Uint64(b[:])), binary.BigEndian.Uint64(b[8:]), scale)
}

// AppendDecimal128 writes the number hi:lo divided by 10^scale.
func AppendDecimal128(dst []byte, hi int64, lo uint64, scale int) []byte {
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
		q, r := bits.Div64(h, lo, e19) // h is at most 2^63, which is less than e19
		digits = AppendPadded(strconv.AppendUint(digits, q, 10), r, 19)
	} else {
		digits = strconv.AppendUint(digits, lo, 10)
	}
	return AppendPoint(dst, digits, scale)
}

// AppendPoint writes digits with a point before the last scale digits.
func AppendPoint(dst, digits []byte, scale int) []byte {
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

// Name returns a column's name for a message, quoted and cut to 200 bytes.
func Name(name string) string {
	const most = 200
	if len(name) > most {
		return strconv.Quote(name[:most]) + "…"
	}
	return strconv.Quote(name)
}

// CheckNames returns an error for empty or repeated column names.
func CheckNames(names []string) error {
	seen := make(map[string]int, len(names))
	for i, n := range names {
		if n == "" {
			return fmt.Errorf("column %d has no name", i+1)
		}
		if j, ok := seen[n]; ok {
			return fmt.Errorf("column name %s stands twice: columns %d and %d", Name(n), j, i+1)
		}
		seen[n] = i + 1
	}
	return nil
}

// AppendJSON writes a JSON string. Bytes that are not UTF-8 are copied unchanged.
func AppendJSON[S string | []byte](dst []byte, s S) []byte {
	return append(AppendWithin(append(dst, '"'), s), '"')
}

// AppendWithin writes a part of a JSON string, without its quotes.
func AppendWithin[S string | []byte](dst []byte, s S) []byte {
	const digits = "0123456789abcdef"
	from := 0
	for i := range len(s) {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[b>>4], digits[b&0xf])
		}
	}
	return append(dst, s[from:]...)
}
