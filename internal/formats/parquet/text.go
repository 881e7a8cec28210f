package parquet

import "math"

// float16 returns the value of a half-precision number.
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
