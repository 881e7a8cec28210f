package parquet

import (
	"math"
	"time"

	"bulkload/internal/formats/valuetext"
)

// appendTimestamp writes an instant, shifted to the zone if the column has one.
func (t *columnType) appendTimestamp(dst []byte, second, fraction int64, unit int) []byte {
	if t.zone != nil && t.zone != time.UTC {
		_, offset := time.Unix(second, 0).In(t.zone).Zone()
		second += int64(offset)
	}
	dst = append(valuetext.AppendDate(dst, floorDiv(second, 86400)), ' ')
	return appendClock(dst, floorMod(second, 86400), fraction, unit)
}

// appendClock writes a time of day, with a fraction unless it is 0, without trailing zeros.
func appendClock(dst []byte, second, fraction int64, unit int) []byte {
	hour := second / 3600
	if second < 0 {
		dst, second, hour = append(dst, '-'), -second, -second/3600
	}
	dst = valuetext.AppendPadded(dst, uint64(hour), 2)
	dst = valuetext.AppendPadded(append(dst, ':'), uint64(second/60%60), 2)
	dst = valuetext.AppendPadded(append(dst, ':'), uint64(second%60), 2)
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
	return valuetext.AppendPadded(append(dst, '.'), uint64(fraction), digits)
}

// float16 is the value of a half-precision number.
func float16(b uint16) float64 {
	sign, exp, frac := 1.0, int((b>>10)&0x1f), float64(b&0x3ff)
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
