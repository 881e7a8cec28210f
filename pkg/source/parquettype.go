package source

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// kind is the rule by which a value becomes text.
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
)

// columnType says how the values of a column become text.
type columnType struct {
	kind     kind
	width    int  // bytes of a plain value; 0: any number, its length before it
	bytes    bool // BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY
	optional bool
	scale    int // of a decimal
	unit     int // units in a second, of times
	zone     *time.Location
}

// number says that plain values are numbers as DELTA_BINARY_PACKED has them.
func (t *columnType) number() bool {
	return !t.bytes && t.kind != kindFloat && t.kind != kindDouble && t.kind != kindBool && (t.width == 4 || t.width == 8)
}

// typeOf finds the rule for a column.
func typeOf(node *schema.PrimitiveNode, zone *time.Location) (columnType, error) {
	t := columnType{optional: node.RepetitionType() == parquet.Repetitions.Optional}
	switch node.PhysicalType() {
	case parquet.Types.Boolean:
		t.kind, t.width = kindBool, 1
	case parquet.Types.Int32:
		t.kind, t.width = kindInt, 4
	case parquet.Types.Int64:
		t.kind, t.width = kindInt, 8
	case parquet.Types.Int96:
		t.kind, t.width, t.zone = kindTimestampI96, 12, zone
	case parquet.Types.Float:
		t.kind, t.width = kindFloat, 4
	case parquet.Types.Double:
		t.kind, t.width = kindDouble, 8
	case parquet.Types.ByteArray:
		t.bytes = true
	case parquet.Types.FixedLenByteArray:
		t.bytes, t.width = true, node.TypeLength()
		if t.width <= 0 {
			return t, fmt.Errorf("values of %d bytes", t.width)
		}
	default:
		return t, fmt.Errorf("the type %v is not known", node.PhysicalType())
	}
	return t, t.logical(node.LogicalType(), zone)
}

// logical applies what the column's values mean.
func (t *columnType) logical(logical schema.LogicalType, zone *time.Location) error {
	switch l := logical.(type) {
	case schema.IntLogicalType:
		if !l.IsSigned() {
			t.kind = kindUint
		}
	case *schema.IntLogicalType:
		if !l.IsSigned() {
			t.kind = kindUint
		}
	case *schema.DecimalLogicalType:
		t.decimal(int(l.Scale()))
	case schema.DecimalLogicalType:
		t.decimal(int(l.Scale()))
	case schema.DateLogicalType:
		t.kind = kindDate
	case *schema.TimeLogicalType:
		return t.time(kindTime, l.TimeUnit())
	case schema.TimeLogicalType:
		return t.time(kindTime, l.TimeUnit())
	case *schema.TimestampLogicalType:
		return t.timestamp(*l, zone)
	case schema.TimestampLogicalType:
		return t.timestamp(l, zone)
	case schema.UUIDLogicalType:
		if t.width == 16 {
			t.kind = kindUUID
		}
	case schema.Float16LogicalType:
		if t.bytes && t.width == 2 {
			t.kind = kindFloat16
		}
	case schema.IntervalLogicalType:
		return errors.New("intervals have no form as text: write another type")
	}
	return nil
}

func (t *columnType) decimal(scale int) {
	t.scale = max(scale, 0)
	if t.kind = kindDecimalInt; t.bytes {
		t.kind = kindDecimal
	}
}

func (t *columnType) timestamp(l schema.TimestampLogicalType, zone *time.Location) error {
	if l.IsAdjustedToUTC() {
		t.zone = zone
	}
	return t.time(kindTimestamp, l.TimeUnit())
}

func (t *columnType) time(k kind, unit schema.TimeUnitType) error {
	t.kind = k
	switch unit {
	case schema.TimeUnitMillis:
		t.unit = 1e3
	case schema.TimeUnitMicros:
		t.unit = 1e6
	case schema.TimeUnitNanos:
		t.unit = 1e9
	default:
		return fmt.Errorf("the unit of its times, %v, is not known", unit)
	}
	return nil
}

// append writes a plain value as text. The package documentation has the rules.
func (t *columnType) append(dst, v []byte) []byte {
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
		return appendFloat(dst, float16(binary.LittleEndian.Uint16(v)), 32)
	case kindFloat:
		return appendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))), 32)
	case kindDouble:
		return appendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(v)), 64)
	case kindDecimalInt:
		n := t.int(v)
		return appendDecimal128(dst, n>>63, uint64(n), t.scale)
	case kindDecimal:
		return appendDecimal(dst, v, t.scale)
	case kindDate:
		return appendDate(dst, t.int(v))
	case kindTime:
		n := t.int(v)
		return appendClock(dst, floorDiv(n, int64(t.unit)), floorMod(n, int64(t.unit)), t.unit)
	case kindTimestamp:
		n := t.int(v)
		return t.appendTimestamp(dst, floorDiv(n, int64(t.unit)), floorMod(n, int64(t.unit)), t.unit)
	case kindTimestampI96:
		const julian1970 = 2440588
		nanos := int64(binary.LittleEndian.Uint64(v))
		day := int64(binary.LittleEndian.Uint32(v[8:])) - julian1970
		return t.appendTimestamp(dst, day*86400+floorDiv(nanos, 1e9), floorMod(nanos, 1e9), 1e9)
	case kindUUID:
		for i, n := range [5]int{4, 2, 2, 2, 6} {
			if i > 0 {
				dst = append(dst, '-')
			}
			dst = hex.AppendEncode(dst, v[:n])
			v = v[n:]
		}
		return dst
	default:
		return append(dst, v...)
	}
}

// int is a little-endian number of 4 or 8 bytes.
func (t *columnType) int(v []byte) int64 {
	if t.width == 4 {
		return int64(int32(binary.LittleEndian.Uint32(v)))
	}
	return int64(binary.LittleEndian.Uint64(v))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}

// appendTimestamp writes an instant, shifted to the zone if the column has one.
func (t *columnType) appendTimestamp(dst []byte, second, fraction int64, unit int) []byte {
	if t.zone != nil && t.zone != time.UTC {
		_, offset := time.Unix(second, 0).In(t.zone).Zone()
		second += int64(offset)
	}
	dst = append(appendDate(dst, floorDiv(second, 86400)), ' ')
	return appendClock(dst, floorMod(second, 86400), fraction, unit)
}

// appendDate writes the date of a day since 1970, in the Gregorian calendar extended to all times.
func appendDate(dst []byte, day int64) []byte {
	// Eras of 400 years that begin on a 1st of March: the leap day is the last of a year.
	day += 719468
	era := floorDiv(day, 146097)
	doe := day - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	month, year := mp+3, yoe+era*400
	if month > 12 {
		month, year = month-12, year+1
	}
	if year < 0 {
		dst, year = append(dst, '-'), -year
	}
	dst = appendPadded(dst, uint64(year), 4)
	dst = appendPadded(append(dst, '-'), uint64(month), 2)
	return appendPadded(append(dst, '-'), uint64(doy-(153*mp+2)/5+1), 2)
}

// appendClock writes a time of day, with a fraction unless it is 0, without trailing zeros.
func appendClock(dst []byte, second, fraction int64, unit int) []byte {
	hour := second / 3600
	if second < 0 {
		dst, second, hour = append(dst, '-'), -second, -second/3600
	}
	dst = appendPadded(dst, uint64(hour), 2)
	dst = appendPadded(append(dst, ':'), uint64(second/60%60), 2)
	dst = appendPadded(append(dst, ':'), uint64(second%60), 2)
	if fraction == 0 {
		return dst
	}
	digits := 3
	for n := unit; n > 1000; n /= 1000 {
		digits += 3
	}
	for fraction%10 == 0 {
		fraction /= 10
		digits--
	}
	return appendPadded(append(dst, '.'), uint64(fraction), digits)
}

// appendPadded writes a number with at least n digits.
func appendPadded(dst []byte, v uint64, n int) []byte {
	var b [20]byte
	i := len(b)
	for ; v > 0 || n > 0; n-- {
		i--
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, b[i:]...)
}

// appendFloat writes the shortest decimal that reads back as the same number: without exponent from 1e-6 up to 1e21, as
// JSON and JavaScript do.
func appendFloat(dst []byte, f float64, size int) []byte {
	switch a := math.Abs(f); {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case a != 0 && (a < 1e-6 || a >= 1e21):
		return strconv.AppendFloat(dst, f, 'e', -1, size)
	default:
		return strconv.AppendFloat(dst, f, 'f', -1, size)
	}
}

// float16 is the value of a half-precision number.
func float16(b uint16) float64 {
	sign, exp, frac := 1.0, int(b>>10&0x1f), float64(b&0x3ff)
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

// appendDecimal writes a number in two's complement, its highest byte first, divided by 10^scale.
func appendDecimal(dst, v []byte, scale int) []byte {
	if len(v) == 0 {
		return appendDecimal128(dst, 0, 0, scale)
	}
	sign := byte(int8(v[0]) >> 7)
	for len(v) > 16 && v[0] == sign && v[1]&0x80 == sign&0x80 {
		v = v[1:]
	}
	if len(v) > 16 {
		n := new(big.Int).SetBytes(v)
		if sign != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
			dst = append(dst, '-')
		}
		return appendPoint(dst, n.Abs(n).Append(nil, 10), scale)
	}
	var b [16]byte
	for i := range b {
		b[i] = sign
	}
	copy(b[16-len(v):], v)
	return appendDecimal128(dst, int64(binary.BigEndian.Uint64(b[:])), binary.BigEndian.Uint64(b[8:]), scale)
}

// appendDecimal128 writes the number hi:lo divided by 10^scale.
func appendDecimal128(dst []byte, hi int64, lo uint64, scale int) []byte {
	h := uint64(hi)
	if hi < 0 {
		dst = append(dst, '-')
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		h, _ = bits.Sub64(0, h, borrow)
	}
	const e19 = 1e19
	var b [40]byte
	digits := b[:0]
	if h > 0 || lo >= e19 {
		q, r := bits.Div64(h, lo, e19) // h is at most 2^63, which is less
		digits = appendPadded(strconv.AppendUint(digits, q, 10), r, 19)
	} else {
		digits = strconv.AppendUint(digits, lo, 10)
	}
	return appendPoint(dst, digits, scale)
}

// appendPoint writes digits with a point before the last scale of them.
func appendPoint(dst, digits []byte, scale int) []byte {
	if scale == 0 {
		return append(dst, digits...)
	}
	if n := len(digits) - scale; n > 0 {
		dst = append(dst, digits[:n]...)
		digits = digits[n:]
	} else {
		dst = append(dst, '0')
	}
	dst = append(dst, '.')
	for range scale - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}
