package avro

import "bulkload/internal/formats/valuetext"

// appendTime writes a time of day.
func appendTime(dst []byte, v, unit int64) []byte {
	second, fraction := v/unit, v%unit
	if v < 0 {
		dst, second, fraction = append(dst, '-'), -second, -fraction
	}
	return valuetext.AppendClock(dst, second, fraction, unit)
}

// maxDecimal is how many bytes a decimal's number may take, of about 2,460 digits. Writing it takes time in proportion
// to their square.
const maxDecimal = 1024
