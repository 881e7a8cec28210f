package orc

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"time"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/setting"
)

// textRules are the settings for all values of a file.
type textRules struct {
	zone     *time.Location // of instants
	calendar valuetext.OrcCalendar
	most     int64 // the most bytes of a value
}

// append appends the text of a value, given its decoded numbers. It reads the bytes of the value from the data stream.
func (c *column) append(dst []byte, first, second int64) ([]byte, error) {
	switch c.kind {
	case kindBool:
		return strconv.AppendBool(dst, first != 0), nil
	case kindByte, kindShort, kindInt, kindLong:
		return strconv.AppendInt(dst, first, 10), nil
	case kindFloat:
		b, err := c.data.take(4)
		if err != nil {
			return dst, err
		}
		return valuetext.AppendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32), nil
	case kindDouble:
		b, err := c.data.take(8)
		if err != nil {
			return dst, err
		}
		return valuetext.AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)), 64), nil
	case kindDecimal:
		return c.decimal(dst, second)
	case kindDate:
		if first > math.MaxInt32 || first < math.MinInt32 {
			return dst, errors.New("a date is out of range")
		}
		day, err := c.rules.calendar.Day(first)
		return valuetext.AppendDate(dst, day), err
	case kindTimestamp, kindInstant:
		return c.timestamp(dst, first, second)
	default:
		if first < 0 || first > c.rules.most {
			return dst, c.checkLength(first)
		}
		return c.data.appendTo(dst, int(first))
	}
}

func (c *column) checkLength(n int64) error {
	if n < 0 {
		return errors.New("the length of a value is damaged")
	}
	return c.data.source.limit.Exceeded("a value of "+setting.Count(n, "byte"), n, c.rules.most)
}

// decimal appends a decimal, which has its own scale, with at least as many digits after the point as the column's scale.
func (c *column) decimal(dst []byte, scale int64) ([]byte, error) {
	hi, lo, err := c.data.uvarint128()
	if err != nil {
		return dst, err
	}
	if scale < 0 || scale > maxScale {
		return dst, errors.New("the scale of a decimal is damaged")
	}
	sign := -(lo & 1) // zigzag
	lo, hi = ((lo>>1)|(hi<<63))^sign, (hi>>1)^sign
	dst = valuetext.AppendDecimal128(dst, int64(hi), lo, int(scale))
	if scale == 0 && c.scale > 0 {
		dst = append(dst, '.')
	}
	for ; scale < int64(c.scale); scale++ {
		dst = append(dst, '0')
	}
	return dst, nil
}

// timestamp appends a timestamp as the writer's local time, and an instant as the time in the configured zone.
func (c *column) timestamp(dst []byte, second, packed int64) ([]byte, error) {
	nanos := packed >> 3
	if zeros := packed & 7; zeros != 0 {
		for range zeros + 1 {
			nanos *= 10
		}
	}
	if unpacked := packed >> 3; max(nanos, -nanos, unpacked, -unpacked) >= 1e9 {
		return dst, errors.New("the nanoseconds of a timestamp are damaged")
	}
	local, nanos, err := c.clock.Local(second, nanos)
	if err != nil {
		return dst, err
	}
	var zone *time.Location
	if c.kind == kindInstant {
		zone = c.rules.zone
	}
	return valuetext.AppendInstant(dst, local, nanos, 1e9, zone), nil
}

// appendJSON writes a value's text as JSON: a number or a boolean as it is, anything else as a string.
func (k kind) appendJSON(dst, text []byte) []byte {
	switch k {
	case kindBool, kindByte, kindShort, kindInt, kindLong, kindDecimal:
		return append(dst, text...)
	case kindFloat, kindDouble:
		if c := text[len(text)-1]; c >= '0' && c <= '9' {
			return append(dst, text...)
		} // NaN, Infinity
	case kindBinary, kindGeometry, kindGeography:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), text), '"')
	}
	return valuetext.AppendJSON(dst, text)
}
