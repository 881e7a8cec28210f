package keygen

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Reasons why the key of a value is not an exact bound: see [CheckBound].
var (
	ErrCut      = errors.New("keeps only some of the value")
	ErrClock    = errors.New("has times around a change of the clock in another order")
	ErrNegative = errors.New("keeps the order of numbers from 0 up")
)

// CheckBound returns an error if the key of a value is not an exact bound: some rows are before the value but their keys are not before its key, or
// the reverse. part keeps the order of its column except for such values; the error is ErrCut, ErrClock or ErrNegative. It is nil for a value without
// a key. more means that the key continues with other columns; then different values must have different keys.
func CheckBound(part Expr, value []byte, more bool) error {
	c, ok := part.(Call)
	switch err := checkCalls(part); {
	case !ok || err != nil:
		return err
	case c.Func == "substr":
		if len(c.Ints) > 1 && (more || utf8.RuneCount(value) > c.Ints[1]) {
			return ErrCut
		}
	case c.Func == "date":
		return checkDateBound(c, value, more)
	case c.Func == "hex":
	case len(c.Args) == 1:
		if m, ok := c.Args[0].(Call); ok && m.Func == "millis" {
			return checkMillisBound(m, value, more)
		}
		if n, err := parseInt(value); err == nil && n < 0 || errors.Is(err, ErrRange) && strings.HasPrefix(string(value), "-") {
			return ErrNegative
		}
	}
	return nil
}

func checkMillisBound(call Call, value []byte, more bool) error {
	d, err := datesOf(call.Args[1:])
	if err != nil {
		return err
	}
	ms, nanos, err := d.Parse(value)
	switch {
	case err != nil:
		return nil
	case more && d.layout.finest() > milliseconds || nanos != 0:
		return ErrCut
	case d.layout.unit == 0 && !d.layout.offset() && d.zone.skips(floorDiv(ms, 1000)):
		return ErrClock
	case ms < 0:
		return ErrNegative
	}
	return nil
}

func checkDateBound(call Call, value []byte, more bool) error {
	d, err := newDateOp(call)
	if err != nil {
		return err
	}
	c, ok := civil{}, false
	if d.plain {
		c, ok = d.from.layout.parse(value)
	} else if ms, nanos, err := d.from.Parse(value); err == nil {
		s := floorDiv(ms, 1000)
		if d.to.zone.repeats(s) {
			return ErrClock
		}
		c, ok = civilOf(s+d.to.zone.offsetAt(s), int(ms-s*1000)*nsPerMs+nanos), true
	}
	if !ok {
		return nil
	}
	c.offset, c.hasOffset = 0, false
	back, ok := d.to.layout.parse(d.to.layout.append(nil, &c))
	if more && d.from.layout.finest() > d.to.layout.finest() || ok && back != c {
		return ErrCut
	}
	return nil
}

// WholeDate reports whether a value is a complete date that a part stores completely: no longer value begins with it, and no other value has its key.
func WholeDate(part Expr, value []byte) bool {
	c, ok := part.(Call)
	if !ok || c.Func != "date" || checkCalls(c) != nil {
		return false
	}
	d, err := newDateOp(c)
	if err != nil || !d.plain || d.from.layout.finest() > min(d.to.layout.finest(), milliseconds) {
		return false
	}
	for _, f := range d.from.layout.fields {
		if f.kind == 'f' || f.kind != 0 && f.n == 1 {
			return false // a field of one or two digits, or an optional fraction
		}
	}
	_, ok = d.from.layout.parse(value)
	return ok
}

// milliseconds is the result of finest for layouts that end with milliseconds.
const milliseconds = 8

// finest returns the rank of the smallest unit of the layout: from 0 for years to 5 for seconds, and one more for each digit of a fraction.
func (l *layout) finest() int {
	switch l.unit {
	case 1:
		return milliseconds
	case 1000:
		return milliseconds - 3
	}
	least := 0
	for _, f := range l.fields {
		if i := strings.IndexByte("yMdHms", f.kind); f.kind != 0 && i >= 0 {
			least = max(least, i)
		} else if f.kind == 'S' || f.kind == 'f' {
			least = max(least, milliseconds-3+f.n)
		}
	}
	return least
}

// change returns the instant of the clock change within a day of an instant, and the seconds by which the clock changes; 0, 0 if there is none.
func (z *zone) change(instant int64) (at, by int64) {
	const day = 86400
	least, most := instant-day, instant+day
	before, after := z.offsetAt(least), z.offsetAt(most)
	if before == after {
		return 0, 0
	}
	for most-least > 1 {
		if middle := (least + most) / 2; z.offsetAt(middle) == before {
			least = middle
		} else {
			most = middle
		}
	}
	return most, z.offsetAt(most) - before
}

// repeats reports whether the clock shows the local time of an instant twice.
func (z *zone) repeats(instant int64) bool {
	at, by := z.change(instant)
	return by < 0 && instant >= at+by && instant < at-by
}

// skips reports whether an instant is one that local times skipped by the clock are converted to.
func (z *zone) skips(instant int64) bool {
	at, by := z.change(instant)
	return by > 0 && instant >= at && instant < at+by
}
