package source

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"bulkload/pkg/setting"
	"bulkload/pkg/valuetext"
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
	text     bool // a text value is UTF-8
	def, rep int  // the levels of a value that is there; 0, 0 where nothing can be null
	scale    int  // of a decimal
	unit     int  // units in a second, of times
	zone     *time.Location
}

// number says that plain values are numbers as DELTA_BINARY_PACKED has them.
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

// Logical types of parquet.thrift. Those that are not here leave the physical type as it is.
const (
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalJSON      = 12
	logicalUUID      = 14
	logicalFloat16   = 15
)

// Converted types of parquet.thrift, which were before logical types.
const (
	convertedUTF8            = 0
	convertedMap             = 1
	convertedMapKeyValue     = 2
	convertedList            = 3
	convertedEnum            = 4
	convertedDecimal         = 5
	convertedDate            = 6
	convertedTimeMillis      = 7
	convertedTimeMicros      = 8
	convertedTimestampMillis = 9
	convertedTimestampMicros = 10
	convertedUint8           = 11
	convertedUint64          = 14
	convertedJSON            = 19
	convertedInterval        = 21
)

// mostScale bounds the digits behind a decimal's point, each of which is a byte of every value.
const mostScale = 4096

// typeOf finds the rule for a column.
func typeOf(n *schemaNode, zone *time.Location) (columnType, error) {
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

// logical applies what the column's values mean. What is unknown, or does not fit the physical type, changes nothing.
func (t *columnType) logical(n *schemaNode, zone *time.Location) error {
	switch n.logical {
	case logicalString, logicalEnum, logicalJSON:
		t.text = t.bytes
	case logicalInteger:
		t.integer(n.unsigned)
	case logicalDecimal:
		return t.decimal(n.scale)
	case logicalDate:
		t.date()
	case logicalTime:
		t.time(kindTime, n.unit)
	case logicalTimestamp:
		if t.time(kindTimestamp, n.unit); n.instant && t.kind == kindTimestamp {
			t.zone = zone
		}
	case logicalUUID:
		if t.bytes && t.width == 16 {
			t.kind = kindUUID
		}
	case logicalFloat16:
		if t.bytes && t.width == 2 {
			t.kind = kindFloat16
		}
	}
	return nil
}

// converted applies what old writers say about the column's values.
func (t *columnType) converted(n *schemaNode, zone *time.Location) error {
	switch c := n.converted; c {
	case convertedUTF8, convertedEnum, convertedJSON:
		t.text = t.bytes
	case convertedDecimal:
		return t.decimal(n.scale)
	case convertedDate:
		t.date()
	case convertedTimeMillis, convertedTimeMicros:
		t.time(kindTime, int16(c-convertedTimeMillis+1))
	case convertedTimestampMillis, convertedTimestampMicros:
		if t.time(kindTimestamp, int16(c-convertedTimestampMillis+1)); t.kind == kindTimestamp {
			t.zone = zone
		}
	case convertedInterval:
		return errors.New("intervals have no form as text: write another type")
	default:
		t.integer(c >= convertedUint8 && c <= convertedUint64)
	}
	return nil
}

func (t *columnType) integer(unsigned bool) {
	if t.kind == kindInt && unsigned {
		t.kind = kindUint
	}
}

func (t *columnType) date() {
	if t.kind == kindInt && t.width == 4 {
		t.kind = kindDate
	}
}

func (t *columnType) decimal(scale int64) error {
	switch {
	case !t.bytes && t.kind != kindInt:
		return nil
	case scale < 0 || scale > mostScale:
		return fmt.Errorf("its decimals have %d digits behind the point", scale)
	}
	t.scale = int(scale)
	if t.kind = kindDecimalInt; t.bytes {
		t.kind = kindDecimal
	}
	return nil
}

// time applies a unit of times: milliseconds of day fit four bytes, all others need eight.
func (t *columnType) time(k kind, unit int16) {
	if t.kind != kindInt || unit < 1 || unit > 3 || t.width == 4 && (k != kindTime || unit != 1) {
		return
	}
	t.kind = k
	t.unit = [...]int{1e3, 1e6, 1e9}[unit-1]
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
		return valuetext.AppendFloat(dst, float16(binary.LittleEndian.Uint16(v)), 32)
	case kindFloat:
		return valuetext.AppendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))), 32)
	case kindDouble:
		return valuetext.AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(v)), 64)
	case kindDecimalInt:
		n := t.int(v)
		return valuetext.AppendDecimal128(dst, n>>63, uint64(n), t.scale)
	case kindDecimal:
		return valuetext.AppendDecimal(dst, v, t.scale)
	case kindDate:
		return valuetext.AppendDate(dst, t.int(v))
	case kindTime:
		n := t.int(v)
		return appendClock(dst, floorDiv(n, int64(t.unit)), floorMod(n, int64(t.unit)), t.unit)
	case kindTimestamp:
		n := t.int(v)
		return t.appendTimestamp(dst, floorDiv(n, int64(t.unit)), floorMod(n, int64(t.unit)), t.unit)
	case kindTimestampI96:
		const julian1970 = 2440588
		nanos := int64(binary.LittleEndian.Uint64(v))
		day := int64(int32(binary.LittleEndian.Uint32(v[8:]))) - julian1970
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
