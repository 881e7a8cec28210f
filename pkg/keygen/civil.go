package keygen

import (
	"bytes"
	"strconv"
	"time"
)

// civil is a date and a time of day in the fields of a written date.
type civil struct {
	year, month, day  int
	hour, minute, sec int
	ns                int // nanoseconds within the second
	offset            int // seconds east of UTC
	hasOffset         bool
}

const nsPerMs = 1_000_000

// parse reads a date in the layout. Fields that the layout lacks get their least value.
func (l *layout) parse(b []byte) (civil, bool) {
	c := civil{month: 1, day: 1}
	for _, f := range l.fields {
		v, n, ok := 0, 0, true
		switch f.kind {
		case 0:
			ok = len(b) > 0 && b[0] == f.lit
			n = 1
		case 'f':
			if len(b) > 0 && b[0] == f.lit {
				v, n, ok = fraction(b[1:], 1, 9)
				n++
			}
			c.ns = v
		case 'S':
			v, n, ok = fraction(b, f.n, f.n)
			c.ns = v
		case 'X':
			c.offset, n, ok = offsetOf(b, f.n)
			c.hasOffset = true
		default:
			most := f.n
			if f.n == 1 {
				most = 2
			}
			v, n, ok = digitsOf(b, f.n, most)
			c.set(f.kind, v)
		}
		if !ok {
			return c, false
		}
		b = b[n:]
	}
	return c, len(b) == 0 && c.valid()
}

func (c *civil) set(kind byte, v int) {
	switch kind {
	case 'y':
		c.year = v
	case 'M':
		c.month = v
	case 'd':
		c.day = v
	case 'H':
		c.hour = v
	case 'm':
		c.minute = v
	case 's':
		c.sec = v
	}
}

// digitsOf reads between least and most decimal digits.
func digitsOf(b []byte, least, most int) (v, n int, ok bool) {
	for n < most && n < len(b) && isDigit(b[n]) {
		v = v*10 + int(b[n]-'0')
		n++
	}
	return v, n, n >= least
}

// fraction reads the digits after a second's point, nine at most, and returns nanoseconds.
func fraction(b []byte, least, most int) (ns, n int, ok bool) {
	v, n, ok := digitsOf(b, least, most)
	for i := n; i < 9; i++ {
		v *= 10
	}
	return v, n, ok
}

// offsetOf reads Z, or a sign, two digits of hours and two of minutes: with a colon between them for XXX, without one for X and XX; for X
// the minutes may be missing.
func offsetOf(b []byte, kind int) (seconds, n int, ok bool) {
	if len(b) > 0 && b[0] == 'Z' {
		return 0, 1, true
	}
	if len(b) < 3 || b[0] != '+' && b[0] != '-' {
		return 0, 0, false
	}
	h, _, ok := digitsOf(b[1:], 2, 2)
	n = 3
	m := 0
	if kind == 3 {
		if len(b) < 4 || b[3] != ':' {
			return 0, 0, false
		}
		n++
	}
	if kind > 1 || len(b) > n && isDigit(b[n]) {
		var fits bool
		m, _, fits = digitsOf(b[n:], 2, 2)
		ok = ok && fits
		n += 2
	}
	seconds = h*3600 + m*60
	if b[0] == '-' {
		seconds = -seconds
	}
	return seconds, n, ok && h <= 18 && m < 60
}

func (c *civil) valid() bool {
	return c.year >= 1 && c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= daysIn(c.year, c.month) &&
		c.hour < 24 && c.minute < 60 && c.sec < 60
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// seconds returns the seconds since 1970 as if the date were in UTC.
func (c *civil) seconds() int64 {
	return time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.sec, 0, time.UTC).Unix()
}

// civilOf returns the inverse of seconds.
func civilOf(seconds int64, ns int) civil {
	t := time.Unix(seconds, 0).UTC()
	c := civil{ns: ns}
	var month time.Month
	c.year, month, c.day = t.Date()
	c.month = int(month)
	c.hour, c.minute, c.sec = t.Clock()
	return c
}

func floorDiv[T int | int64](a, b T) T {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// append writes a date in the layout. Its year has four digits.
func (l *layout) append(dst []byte, c *civil) []byte {
	for _, f := range l.fields {
		v := 0
		switch f.kind {
		case 0:
			dst = append(dst, f.lit)
			continue
		case 'S':
			dst = appendPadded(dst, int64(c.ns), 9)
			dst = dst[:len(dst)-(9-f.n)]
			continue
		case 'f':
			if c.ns != 0 {
				dst = appendPadded(append(dst, f.lit), int64(c.ns), 9)
				dst = bytes.TrimRight(dst, "0")
			}
			continue
		case 'X':
			dst = appendOffset(dst, c.offset, f.n)
			continue
		case 'y':
			v = c.year
		case 'M':
			v = c.month
		case 'd':
			v = c.day
		case 'H':
			v = c.hour
		case 'm':
			v = c.minute
		case 's':
			v = c.sec
		}
		if f.n == 1 {
			dst = strconv.AppendInt(dst, int64(v), 10)
		} else {
			dst = appendPadded(dst, int64(v), f.n)
		}
	}
	return dst
}

func appendOffset(dst []byte, seconds, kind int) []byte {
	if seconds == 0 {
		return append(dst, 'Z')
	}
	sign := byte('+')
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	dst = appendPadded(append(dst, sign), int64(seconds/3600), 2)
	m := seconds / 60 % 60
	switch {
	case kind == 3:
		dst = append(dst, ':')
	case kind == 1 && m == 0:
		return dst
	}
	return appendPadded(dst, int64(m), 2)
}
