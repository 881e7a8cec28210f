package parquet

import (
	"errors"
	"fmt"
	"time"

	"bulkload/internal/formats/valuetext"
)

// Logical types of parquet.thrift.
const (
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInterval  = 9 // a reserved number
	logicalInteger   = 10
	logicalUnknown   = 11 // always NULL
	logicalJSON      = 12
	logicalBSON      = 13
	logicalUUID      = 14
	logicalFloat16   = 15
	logicalVariant   = 16 // only of groups
	logicalGeometry  = 17 // well-known binary
	logicalGeography = 18
)

// Converted types of parquet.thrift, the predecessors of logical types.
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
	convertedInt64           = 18
	convertedJSON            = 19
	convertedBSON            = 20
	convertedInterval        = 21
)

// errInterval is about columns of intervals.
var errInterval = errors.New("intervals have no form as text")

// fits returns an error unless applied is set: a logical or converted type that cannot be applied does not fit the column's physical type.
func (t *columnType) fits(applied bool, n *schemaNode) error {
	if applied {
		return nil
	}
	return fmt.Errorf("its logical type %d, converted type %d does not fit its physical type %d", n.logical, n.converted, n.physical)
}

// logical applies the column's logical type. It returns an error for types that are unknown or do not fit the physical type: the
// values would be misinterpreted.
func (t *columnType) logical(n *schemaNode, zone *time.Location) error {
	switch n.logical {
	case logicalString, logicalEnum, logicalJSON:
		t.text = t.bytes
	case logicalInteger:
		return t.fits(t.integer(n.unsigned), n)
	case logicalDecimal:
		return t.decimal(n)
	case logicalDate:
		return t.fits(t.date(), n)
	case logicalTime:
		return t.fits(t.time(kindTime, n.unit), n)
	case logicalTimestamp:
		if n.instant {
			t.zone = zone
		}
		return t.fits(t.time(kindTimestamp, n.unit), n)
	case logicalUUID:
		t.kind = kindUUID
		return t.fits(t.bytes && t.width == 16, n)
	case logicalFloat16:
		t.kind = kindFloat16
		return t.fits(t.bytes && t.width == 2, n)
	case logicalInterval:
		return errInterval
	case logicalUnknown, logicalBSON, logicalGeometry, logicalGeography:
	default:
		return fmt.Errorf("its logical type %d is not known", n.logical)
	}
	return nil
}

// converted applies the column's converted type, which old writers use.
func (t *columnType) converted(n *schemaNode, zone *time.Location) error {
	switch c := n.converted; c {
	case -1, convertedBSON:
	case convertedUTF8, convertedEnum, convertedJSON:
		t.text = t.bytes
	case convertedDecimal:
		return t.decimal(n)
	case convertedDate:
		return t.fits(t.date(), n)
	case convertedTimeMillis, convertedTimeMicros:
		return t.fits(t.time(kindTime, int16(c-convertedTimeMillis+1)), n)
	case convertedTimestampMillis, convertedTimestampMicros:
		t.zone = zone
		return t.fits(t.time(kindTimestamp, int16(c-convertedTimestampMillis+1)), n)
	case convertedInterval:
		return errInterval
	default:
		if c < convertedUint8 || c > convertedInt64 {
			return fmt.Errorf("its converted type %d is not known", c)
		}
		return t.fits(t.integer(c <= convertedUint64), n)
	}
	return nil
}

func (t *columnType) integer(unsigned bool) bool {
	fits := t.kind == kindInt
	if fits && unsigned {
		t.kind = kindUint
	}
	return fits
}

func (t *columnType) date() bool {
	fits := t.kind == kindInt && t.width == 4
	t.kind = kindDate
	return fits
}

func (t *columnType) decimal(n *schemaNode) error {
	switch {
	case !t.bytes && t.kind != kindInt:
		return t.fits(false, n)
	case n.scale < 0 || n.scale > valuetext.MaxScale:
		return fmt.Errorf("its decimals have %d digits after the point", n.scale)
	}
	t.scale = int(n.scale)
	if t.kind = kindDecimalInt; t.bytes {
		t.kind = kindDecimal
	}
	return nil
}

// time applies a unit of time: milliseconds of the day have four bytes, all others need eight.
func (t *columnType) time(k kind, unit int16) bool {
	if t.kind != kindInt || unit < 1 || unit > 3 || t.width == 4 && (k != kindTime || unit != 1) {
		return false
	}
	t.kind = k
	t.unit = [...]int{1e3, 1e6, 1e9}[unit-1]
	return true
}
