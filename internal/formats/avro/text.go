package avro

import (
	"time"

	"bulkload/internal/formats/valuetext"
)

// Values become the texts that Parquet's become: see pkg/source.

// appendInstant writes the date and the clock of a second since 1970 and parts of it, in a zone unless it is nil.
func appendInstant(dst []byte, second, fraction, unit int64, zone *time.Location) []byte {
	if zone != nil && zone != time.UTC {
		_, offset := time.Unix(second, 0).In(zone).Zone()
		second += int64(offset)
	}
	dst = append(valuetext.AppendDate(dst, floorDiv(second, 86400)), ' ')
	return appendClock(dst, floorMod(second, 86400), fraction, unit)
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
	dst = valuetext.AppendPadded(dst, uint64(second/3600), 2)
	dst = valuetext.AppendPadded(append(dst, ':'), uint64(second/60%60), 2)
	dst = valuetext.AppendPadded(append(dst, ':'), uint64(second%60), 2)
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
	return valuetext.AppendPadded(append(dst, '.'), uint64(fraction), digits)
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
