package valuetext

import "time"

// AppendInstant writes a date and time in a zone, where nil is UTC. second counts from 1970, and fraction is in units of 1/unit seconds.
func AppendInstant(dst []byte, second, fraction, unit int64, zone *time.Location) []byte {
	if zone != nil && zone != time.UTC {
		_, offset := time.Unix(second, 0).In(zone).Zone()
		second += int64(offset)
	}
	dst = append(AppendDate(dst, FloorDiv(second, 86400)), ' ')
	return AppendClock(dst, FloorMod(second, 86400), fraction, unit)
}

// AppendClock writes hours, minutes and seconds. Unless fraction, in units of 1/unit seconds, is 0, it follows without trailing zeros.
func AppendClock(dst []byte, second, fraction, unit int64) []byte {
	hour := second / 3600
	if second < 0 {
		dst, second, hour = append(dst, '-'), -second, -second/3600
	}
	dst = AppendPadded(dst, uint64(hour), 2)
	dst = AppendPadded(append(dst, ':'), uint64(second/60%60), 2)
	dst = AppendPadded(append(dst, ':'), uint64(second%60), 2)
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
	return AppendPadded(append(dst, '.'), uint64(fraction), digits)
}

// FloorDiv returns a divided by b, rounded down.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// FloorMod returns the remainder of [FloorDiv].
func FloorMod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}

// AppendUUID writes 16 bytes as the hexadecimal groups of a UUID.
func AppendUUID(dst, v []byte) []byte {
	const digits = "0123456789abcdef"
	for i, b := range v {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&0xf])
	}
	return dst
}
