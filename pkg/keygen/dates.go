package keygen

import (
	"fmt"
	"math"
	"strconv"
)

// Dates reads and writes points in time like the functions millis and date: in a layout in the letters of Java's DateTimeFormatter, or as
// the numbers unix and unixms. It is never changed, and safe for concurrent use. The zero Dates has no layout: its methods return errors.
type Dates struct {
	layout *layout
	zone   *zone
	exact  bool // Millis returns an error for digits after the millisecond
}

// TimestampLayout is the default layout of timestamps.
const TimestampLayout = "yyyy-MM-dd HH:mm:ss[.SSS]"

// NewTimestamps returns Dates with the given layout. If it is empty, the layout is [TimestampLayout], and Millis returns an error instead of
// dropping digits.
func NewTimestamps(layout, zone string) (*Dates, error) {
	exact := layout == ""
	if exact {
		layout = TimestampLayout
	}
	d, err := NewDates(layout, zone)
	if err == nil {
		d.exact = exact
	}
	return d, err
}

// NewDates returns Dates with a layout and a zone by name, such as Asia/Shanghai; an empty zone is UTC. Texts with a UTC offset of their
// own need no zone.
func NewDates(layout, zone string) (*Dates, error) {
	l, err := parseLayout(layout)
	if err != nil {
		return nil, err
	}
	z, err := newZone(zone)
	if err != nil {
		return nil, err
	}
	return &Dates{layout: l, zone: z}, nil
}

// Parse returns a text as milliseconds since 1970 and the remaining nanoseconds, which are below a million. Fields that the layout lacks get
// their least value. A time that a clock change repeats or skips has the UTC offset from before the change. The error wraps ErrDate, ErrNumber
// or ErrRange, and its text continues "TEXT is".
func (d *Dates) Parse(text []byte) (ms int64, nanos int, err error) {
	if d.layout == nil {
		return 0, 0, errNoLayout
	}
	if unit := d.layout.unit; unit > 0 {
		v, err := parseInt(text)
		if err == nil && (v > math.MaxInt64/unit || v < math.MinInt64/unit) {
			err = fmt.Errorf("a %w", ErrRange)
		}
		return v * unit, 0, err
	}
	c, ok := d.layout.parse(text)
	if !ok {
		return 0, 0, d.notDate()
	}
	ms, nanos = d.instant(&c)
	return ms, nanos, nil
}

// Millis returns the result of Parse without the nanoseconds. If no layout was given and they are not 0, it returns ErrFiner.
func (d *Dates) Millis(text []byte) (int64, error) {
	ms, nanos, err := d.Parse(text)
	if err == nil && d.exact && nanos != 0 {
		err = ErrFiner
	}
	return ms, err
}

var errNoLayout = fmt.Errorf("%w: there is no layout", ErrDate)

func (d *Dates) notDate() error { return fmt.Errorf("%w %s", ErrDate, d.layout.text) }

func (d *Dates) instant(c *civil) (ms int64, nanos int) {
	s := c.seconds()
	if c.hasOffset {
		s -= int64(c.offset)
	} else {
		s = d.zone.instant(s)
	}
	return s*1000 + int64(c.ns/nsPerMs), c.ns % nsPerMs
}

// Append writes a time in the form that Parse reads. It returns an error, which wraps ErrRange, only if the layout is not a number and the
// year is outside 1 to 9999.
func (d *Dates) Append(dst []byte, ms int64, nanos int) ([]byte, error) {
	if d.layout == nil {
		return dst, errNoLayout
	}
	if unit := d.layout.unit; unit > 0 {
		return strconv.AppendInt(dst, floorDiv(ms, unit), 10), nil
	}
	s := floorDiv(ms, 1000)
	if s < minSecond-86400 || s > maxSecond+86400 {
		return dst, outsideYears(ms)
	}
	offset := d.zone.offsetAt(s)
	c := civilOf(s+offset, int(ms-s*1000)*nsPerMs+nanos)
	if c.year < 1 || c.year > 9999 {
		return dst, outsideYears(ms)
	}
	c.offset = int(offset)
	return d.layout.append(dst, &c), nil
}

func outsideYears(ms int64) error {
	return valueError(strconv.AppendInt(nil, ms, 10), "is a time in ms outside the years 1 to 9999: %w", ErrRange)
}

// The years 1 to 9999 in seconds since 1970.
const (
	minSecond = -62135596800
	maxSecond = 253402300799
)

// millisNumber reads a date as milliseconds since 1970.
type millisNumber struct {
	in   *input
	from *Dates
}

func compileMillis(c *compiler, call Call) (number, error) {
	from, err := datesOf(call.Args[1:])
	if err != nil {
		return nil, err
	}
	in, err := c.input(call.Args[:1], false)
	return &millisNumber{in: in, from: from}, err
}

// datesOf returns the Dates of the constants after the argument.
func datesOf(args []Expr) (*Dates, error) {
	zone := ""
	if len(args) > 1 {
		zone = constant(args[1])
	}
	return NewDates(constant(args[0]), zone)
}

// constant returns the text of a literal argument.
func constant(e Expr) string {
	l, _ := e.(Literal)
	return string(l.Bytes)
}

func (m *millisNumber) value(fields [][]byte) (int64, error) {
	b, err := m.in.bytes(fields)
	if err != nil {
		return 0, err
	}
	ms, _, err := m.from.Parse(b)
	if err != nil {
		return 0, m.fail(b, err)
	}
	return ms, nil
}

func (m *millisNumber) fail(text []byte, err error) error {
	return m.in.fail(valueError(text, "is %w", err))
}

// dateOp writes a date in another layout.
type dateOp struct {
	millisNumber
	to    *Dates
	plain bool // neither layout denotes instants, so the zone does not matter
}

func compileDate(c *compiler, call Call) (op, error) {
	d, err := newDateOp(call)
	if err == nil {
		d.in, err = c.input(call.Args[:1], false)
	}
	return d, err
}

// newDateOp returns the conversion of a date without its input.
func newDateOp(call Call) (*dateOp, error) {
	to, err := datesOf(call.Args[2:])
	if err != nil {
		return nil, err
	}
	l, err := parseLayout(constant(call.Args[1]))
	if err != nil {
		return nil, err
	}
	d := &dateOp{millisNumber: millisNumber{from: &Dates{layout: l, zone: to.zone}}, to: to}
	d.plain = l.unit == 0 && to.layout.unit == 0 && !l.offset() && !to.layout.offset()
	return d, nil
}

func (d *dateOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	if !d.plain {
		ms, err := d.value(fields)
		if err != nil {
			return dst, err
		}
		if dst, err = d.to.Append(dst, ms, 0); err != nil {
			return dst, d.in.fail(err)
		}
		return dst, nil
	}
	b, err := d.in.bytes(fields)
	if err != nil {
		return dst, err
	}
	c, ok := d.from.layout.parse(b)
	if !ok {
		return dst, d.fail(b, d.from.notDate())
	}
	c.ns -= c.ns % nsPerMs // dates that are converted through milliseconds lose these digits too
	return d.to.layout.append(dst, &c), nil
}
