package keygen

import (
	"fmt"
	"math"
	"strconv"
	"time"
	_ "time/tzdata" // zones by name on hosts that have no zone database
)

// zone turns local times into instants and back. It keeps the last distance
// from UTC and how long that holds, because looking it up takes longer than
// all the rest. It belongs to one goroutine.
type zone struct {
	loc      *time.Location
	offset   int64 // seconds east of UTC
	from, to int64 // instants for which the offset holds, in seconds
}

func newZone(name string) (*zone, error) {
	z := &zone{from: 1, to: 0}
	if name == "" || name == "UTC" {
		return &zone{from: math.MinInt64, to: math.MaxInt64}, nil
	}
	if name == "Local" {
		return nil, fmt.Errorf("the zone %q depends on the machine: name one such as Asia/Shanghai", name)
	}
	var err error
	if z.loc, err = time.LoadLocation(name); err != nil {
		return nil, fmt.Errorf("the zone %q is not known: name one such as Asia/Shanghai or UTC", name)
	}
	return z, nil
}

func (z *zone) offsetAt(instant int64) int64 {
	if instant >= z.from && instant < z.to {
		return z.offset
	}
	t := time.Unix(instant, 0).In(z.loc)
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	z.offset, z.from, z.to = int64(offset), math.MinInt64, math.MaxInt64
	if !start.IsZero() {
		z.from = start.Unix()
	}
	if !end.IsZero() {
		z.to = end.Unix()
	}
	return z.offset
}

// instant is when it is a local time, both in seconds. As in
// java.time.ZonedDateTime, the offset before a change of the clocks counts for
// times that the change repeats or skips.
func (z *zone) instant(local int64) int64 {
	if z.loc == nil {
		return local
	}
	const day = 86400
	if u := local - z.offset; u-day >= z.from && u+day < z.to {
		return u
	}
	after := z.offsetAt(local + day)
	before := z.offsetAt(local - day)
	if before != after && z.offsetAt(local-before) != before && z.offsetAt(local-after) == after {
		return local - after
	}
	return local - before
}

// millisNumber reads a date as milliseconds since 1970.
type millisNumber struct {
	in     *input
	layout *layout
	zone   *zone
}

func compileMillis(c *compiler, call Call) (number, error) {
	l, z, err := layoutAndZone(call.Args[1:])
	if err != nil {
		return nil, err
	}
	in, err := c.input(call.Args[:1], false)
	return &millisNumber{in: in, layout: l, zone: z}, err
}

// layoutAndZone reads the constants behind the argument.
func layoutAndZone(args []Expr) (*layout, *zone, error) {
	l, err := parseLayout(constant(args[0]))
	if err != nil {
		return nil, nil, err
	}
	name := ""
	if len(args) > 1 {
		name = constant(args[1])
	}
	z, err := newZone(name)
	return l, z, err
}

// constant is the text of a literal argument.
func constant(e Expr) string {
	l, _ := e.(Literal)
	return string(l.Bytes)
}

func (m *millisNumber) value(fields [][]byte) (int64, error) {
	b, err := m.in.bytes(fields)
	if err != nil {
		return 0, err
	}
	if m.layout.unit > 0 {
		return m.number(b)
	}
	c, ok := m.layout.parse(b)
	if !ok {
		return 0, m.notDate(b)
	}
	return m.millis(&c), nil
}

func (m *millisNumber) notDate(b []byte) error {
	return m.in.fail(fmt.Errorf("%s is %w %s", shown(b), ErrDate, m.layout.text))
}

func (m *millisNumber) millis(c *civil) int64 {
	s := c.seconds()
	if c.hasOffset {
		s -= int64(c.offset)
	} else {
		s = m.zone.instant(s)
	}
	return s*1000 + int64(c.ms)
}

func (m *millisNumber) number(b []byte) (int64, error) {
	v, err := parseInt(b)
	if err == nil && (v > math.MaxInt64/m.layout.unit || v < math.MinInt64/m.layout.unit) {
		err = fmt.Errorf("a %w", ErrRange)
	}
	if err != nil {
		return 0, m.in.fail(fmt.Errorf("%s is %w", shown(b), err))
	}
	return v * m.layout.unit, nil
}

// dateOp writes a date in another layout.
type dateOp struct {
	millisNumber
	to    *layout
	plain bool // neither layout is about instants: the zone does not matter
}

func compileDate(c *compiler, call Call) (op, error) {
	to, zone, err := layoutAndZone(call.Args[2:])
	if err != nil {
		return nil, err
	}
	from, err := parseLayout(constant(call.Args[1]))
	if err != nil {
		return nil, err
	}
	in, err := c.input(call.Args[:1], false)
	d := &dateOp{millisNumber: millisNumber{in: in, layout: from, zone: zone}, to: to}
	d.plain = from.unit == 0 && to.unit == 0 && !from.offset() && !to.offset()
	return d, err
}

func (d *dateOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	if d.plain {
		b, err := d.in.bytes(fields)
		if err != nil {
			return dst, err
		}
		c, ok := d.layout.parse(b)
		if !ok {
			return dst, d.notDate(b)
		}
		return d.to.append(dst, &c), nil
	}
	t, err := d.value(fields)
	if err != nil {
		return dst, err
	}
	if d.to.unit > 0 {
		return strconv.AppendInt(dst, floorDiv(t, d.to.unit), 10), nil
	}
	s := floorDiv(t, 1000)
	if s < minSecond-86400 || s > maxSecond+86400 {
		return dst, d.in.fail(fmt.Errorf("%d ms is outside the years 0 to 9999: %w", t, ErrRange))
	}
	offset := d.zone.offsetAt(s)
	c := civilOf(s+offset, int(t-s*1000))
	if c.year < 0 || c.year > 9999 {
		return dst, d.in.fail(fmt.Errorf("%d ms is outside the years 0 to 9999: %w", t, ErrRange))
	}
	c.offset = int(offset)
	return d.to.append(dst, &c), nil
}

// The years 0 to 9999 in seconds since 1970.
const (
	minSecond = -62167219200
	maxSecond = 253402300799
)
