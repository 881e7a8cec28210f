package source

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
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
