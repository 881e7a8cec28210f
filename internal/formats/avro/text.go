package avro

import "bulkload/internal/formats/valuetext"

// appendTime appends a time of day.
func appendTime(dst []byte, v, unit int64) []byte {
	second, fraction := v/unit, v%unit
	if v < 0 {
		dst, second, fraction = append(dst, '-'), -second, -fraction
	}
	return valuetext.AppendClock(dst, second, fraction, unit)
}

// maxDecimal is the largest size in bytes of a decimal's number, about 2,460 digits. The time to write it grows with the square of the number of
// digits.
const maxDecimal = 1024
