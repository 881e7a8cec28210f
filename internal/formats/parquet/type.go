package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/setting"
)

// kind determines how a value is formatted as text.
type kind int

const (
	kindText kind = iota
	kindBool
	kindInt
	kindUint
	kindFloat16
	kindFloat
	kindDouble
	kindDecimal      // big-endian bytes
	kindDecimalInt   // little-endian, 4 or 8 bytes
	kindDate         // days since 1970
	kindTime         // units since midnight
	kindTimestamp    // units since 1970
	kindTimestampI96 // nanoseconds of the day, Julian day
	kindUUID
	// Dates and timestamps of writers whose calendar is unknown or not the Gregorian one.
	kindOldDate
	kindOldTimestamp
	kindOldI96
)

// columnType describes the conversion of a column's values to text.
type columnType struct {
	kind     kind
	width    int  // bytes of a plain value; 0: any number, with a length before the value
	bytes    bool // BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY
	text     bool // a text value is UTF-8
	variant  bool // it is part of a VARIANT, and is written as JSON
	def, rep int  // the levels of a value that is not null; def is 0 if no value can be null
	scale    int  // of a decimal
	unit     int  // units in a second, of times
	zone     *time.Location
	calendar *valuetext.Calendar // of an old date or timestamp, else nil
	fault    error               // set by a value that has no text
}

// textRules are the rules for converting values of a file to text.
type textRules struct {
	zone      *time.Location // of instants
	calendars valuetext.Calendars
}

// number reports whether plain values are numbers that DELTA_BINARY_PACKED can encode.
func (t *columnType) number() bool {
	return !t.bytes && t.kind != kindFloat && t.kind != kindDouble && t.kind != kindBool && (t.width == 4 || t.width == 8)
}

// Physical types of parquet.thrift.
const (
	physicalBool = iota
	physicalInt32
	physicalInt64
	physicalInt96
	physicalFloat
	physicalDouble
	physicalBytes
	physicalFixed
)

func typeOf(n *schemaNode, o *textRules) (columnType, error) {
	t, err := gregorianOf(n, o.zone)
	switch {
	case t.kind == kindDate && o.calendars.Dates != nil:
		t.kind, t.calendar = kindOldDate, o.calendars.Dates
	case t.kind == kindTimestamp && t.zone != nil && o.calendars.Instants != nil: // local timestamps are always Gregorian
		t.kind, t.calendar = kindOldTimestamp, o.calendars.Instants
	case t.kind == kindTimestampI96 && o.calendars.Int96 != nil:
		t.kind, t.calendar = kindOldI96, o.calendars.Int96
	}
	return t, err
}

// gregorianOf returns the conversion of a column whose dates and timestamps are in the Gregorian calendar.
func gregorianOf(n *schemaNode, zone *time.Location) (columnType, error) {
	t := columnType{def: n.def, rep: n.rep}
	switch n.physical {
	case physicalBool:
		t.kind, t.width = kindBool, 1
	case physicalInt32:
		t.kind, t.width = kindInt, 4
	case physicalInt64:
		t.kind, t.width = kindInt, 8
	case physicalInt96:
		t.kind, t.width, t.zone = kindTimestampI96, 12, zone
	case physicalFloat:
		t.kind, t.width = kindFloat, 4
	case physicalDouble:
		t.kind, t.width = kindDouble, 8
	case physicalBytes:
		t.bytes = true
	case physicalFixed:
		t.bytes, t.width = true, n.length
		if t.width <= 0 {
			return t, fmt.Errorf("values of %s", setting.Count(t.width, "byte"))
		}
	default:
		return t, fmt.Errorf("the physical type %d is not known", n.physical)
	}
	if n.logical == 0 {
		return t, t.converted(n, zone)
	}
	return t, t.logical(n, zone)
}

// append writes a plain value as text, or as JSON if it is part of a VARIANT.
func (t *columnType) append(dst, v []byte) []byte {
	if t.variant {
		return t.appendVariant(dst, v)
	}
	return t.appendText(dst, v)
}

func (t *columnType) appendText(dst, v []byte) []byte {
	switch t.kind {
	case kindBool:
		return strconv.AppendBool(dst, v[0] != 0)
	case kindInt:
		return strconv.AppendInt(dst, t.int(v), 10)
	case kindUint:
		if t.width == 4 {
			return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(v)), 10)
		}
		return strconv.AppendUint(dst, binary.LittleEndian.Uint64(v), 10)
	case kindFloat16:
		return valuetext.AppendFloat(dst, float16(binary.LittleEndian.Uint16(v)), 32)
	case kindFloat:
		return valuetext.AppendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))), 32)
	case kindDouble:
		return valuetext.AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(v)), 64)
	case kindDecimalInt:
		n := t.int(v)
		return valuetext.AppendDecimal128(dst, n>>63, uint64(n), t.scale)
	case kindDecimal:
		if err := valuetext.CheckDecimal(v); err != nil {
			t.fault = err
			return dst
		}
		return valuetext.AppendDecimal(dst, v, t.scale)
	case kindDate, kindOldDate:
		return t.dated(t.calendar.AppendDate(dst, t.int(v)))
	case kindTime:
		n := t.int(v)
		return valuetext.AppendClock(dst, valuetext.FloorDiv(n, int64(t.unit)), valuetext.FloorMod(n, int64(t.unit)), int64(t.unit))
	case kindTimestamp, kindOldTimestamp:
		n := t.int(v)
		return t.dated(t.calendar.AppendInstant(dst, valuetext.FloorDiv(n, int64(t.unit)), valuetext.FloorMod(n, int64(t.unit)), int64(t.unit), t.zone))
	case kindTimestampI96, kindOldI96:
		second, nanos := int96(v)
		return t.dated(t.calendar.AppendInstant(dst, second, nanos, 1e9, t.zone))
	case kindUUID:
		return valuetext.AppendUUID(dst, v)
	default:
		return append(dst, v...)
	}
}

// int96 returns the seconds since 1970 and the nanoseconds within the second.
func int96(v []byte) (second, nanos int64) {
	const julian1970 = 2440588
	nanos = int64(binary.LittleEndian.Uint64(v))
	day := int64(int32(binary.LittleEndian.Uint32(v[8:]))) - julian1970
	return day*86400 + valuetext.FloorDiv(nanos, 1e9), valuetext.FloorMod(nanos, 1e9)
}

// dated returns dst, and sets fault to err if the calendar has no date for a value.
func (t *columnType) dated(dst []byte, err error) []byte {
	if err != nil {
		t.fault = err
	}
	return dst
}

// int returns a little-endian number of 4 or 8 bytes.
func (t *columnType) int(v []byte) int64 {
	if t.width == 4 {
		return int64(int32(binary.LittleEndian.Uint32(v)))
	}
	return int64(binary.LittleEndian.Uint64(v))
}

// float16 returns the value of a half-precision number.
func float16(b uint16) float64 {
	sign, exp, frac := 1.0, int((b>>10)&0x1f), float64(b&0x3ff)
	if b>>15 != 0 {
		sign = -1
	}
	switch {
	case exp == 0x1f && frac != 0:
		return math.NaN()
	case exp == 0x1f:
		return sign * math.Inf(1)
	case exp == 0:
		return sign * math.Ldexp(frac, -24)
	}
	return sign * math.Ldexp(1+frac/1024, exp-15)
}
