package fixedwidth

import "bulkload/pkg/source/dialect"

// appendDecimal appends the exact decimal of a packed or zoned number of a mainframe. For invalid bytes it appends nothing and returns false.
func appendDecimal(dst, b []byte, p dialect.Position) (out []byte, ok bool) {
	var digits [2 * dialect.MostNumber]byte
	if len(b) == 0 || len(b) > dialect.MostNumber {
		return dst, false
	}
	n, sign, last := 0, byte(0), b[len(b)-1]
	if p.Kind == dialect.Packed {
		for _, c := range b {
			digits[n], digits[n+1] = c>>4, c&0x0f
			n += 2
		}
		n--
		sign = digits[n]
	} else {
		for _, c := range b {
			if digits[n] = c & 0x0f; c>>4 != zoneOf(last) {
				digits[n] = 0xff // invalid, except in the last byte, which is set below
			}
			n++
		}
		sign, digits[n-1] = overpunch(last)
	}
	if sign < 0x0a {
		return dst, false
	}
	zero := true
	for _, d := range digits[:n] {
		if d > 9 {
			return dst, false
		}
		zero = zero && d == 0
	}
	if (sign == 0x0b || sign == 0x0d) && !zero { // zero is written without a sign
		dst = append(dst, '-')
	}
	whole := n - p.Scale
	first := 0 // the first digit to write
	for first < whole-1 && digits[first] == 0 {
		first++
	}
	for i := min(first, whole-1); i < n; i++ {
		if i == whole {
			dst = append(dst, '.')
		}
		if i < 0 {
			dst = append(dst, '0')
		} else {
			dst = append(dst, '0'+digits[i])
		}
	}
	return dst, true
}

// zoneOf returns the zone of all bytes of a zoned number but the last: EBCDIC's or ASCII's, depending on the last byte.
func zoneOf(last byte) byte {
	if last >= 0xa0 {
		return 0x0f
	}
	return 0x03
}

// overpunch returns the sign and the digit in the last byte of a zoned number. The sign is coded as in packed numbers, and is 0 for an invalid byte.
func overpunch(b byte) (sign, digit byte) {
	switch {
	case b >= 0xa0: // EBCDIC
		return b >> 4, b & 0x0f
	case b >= '0' && b <= '9':
		return 0x0f, b - '0'
	case b == '{':
		return 0x0c, 0
	case b == '}':
		return 0x0d, 0
	case b >= 'A' && b <= 'I':
		return 0x0c, b - 'A' + 1
	case b >= 'J' && b <= 'R':
		return 0x0d, b - 'J' + 1
	case b >= 'p' && b <= 'y':
		return 0x0d, b - 'p'
	}
	return 0, 0
}
