package celltype

import (
	"encoding/binary"
	"math"
	"strconv"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/keygen"
)

// A Reverter returns the text of a value that a [Converter] encoded. It returns false for bytes that are not a value of the type.
type Reverter func(value []byte) (string, bool)

// Reverter returns the reverter of the type. It is nil for text, and for Phoenix's decimals, which are shown as raw bytes.
func (c Type) Reverter() Reverter {
	text := c.Appender()
	if text == nil {
		return nil
	}
	return func(v []byte) (string, bool) {
		b, ok := text(nil, v)
		if !ok {
			return "", false
		}
		return string(b), true
	}
}

// An Appender is a [Reverter] that appends the text to dst. It allocates memory only for decimals. If it returns false, the bytes after dst are
// undefined.
type Appender func(dst, value []byte) ([]byte, bool)

// Appender returns the appender of the type. It is nil if [Type.Reverter] is.
func (c Type) Appender() Appender {
	phoenix := c.Encoding == "phoenix"
	switch c.base() {
	case "short":
		return integerText(2, phoenix)
	case "int":
		return integerText(4, phoenix)
	case "long":
		return integerText(8, phoenix)
	case "float":
		return floatText(phoenix)
	case "double":
		return doubleText(phoenix)
	case "boolean":
		return func(dst, v []byte) ([]byte, bool) {
			if len(v) != 1 {
				return dst, false
			}
			return strconv.AppendBool(dst, v[0] != 0), true
		}
	case "decimal":
		if !phoenix {
			return decimalBytesText
		}
	case "date", "timestamp":
		if dates, err := c.dates(); err == nil {
			return instantText(dates, phoenix)
		}
	}
	return nil
}

func integerText(size int, phoenix bool) Appender {
	return func(dst, v []byte) ([]byte, bool) {
		if len(v) != size {
			return dst, false
		}
		var u uint64
		for i, b := range v {
			u |= uint64(b) << (56 - 8*i)
		}
		if phoenix {
			u ^= 1 << 63
		}
		return strconv.AppendInt(dst, int64(u)>>(64-8*size), 10), true
	}
}

// appendJavaFloat writes numbers in a form that Java's BigDecimal and strconv read, and infinities and NaN by Java's names.
func appendJavaFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}

func floatText(phoenix bool) Appender {
	return func(dst, v []byte) ([]byte, bool) {
		if len(v) != 4 {
			return dst, false
		}
		u := binary.BigEndian.Uint32(v)
		if phoenix {
			i := int32(u - 1)
			u = uint32(i ^ (^i>>31 | math.MinInt32))
		}
		return appendJavaFloat(dst, float64(math.Float32frombits(u)), 32), true
	}
}

func doubleText(phoenix bool) Appender {
	return func(dst, v []byte) ([]byte, bool) {
		if len(v) != 8 {
			return dst, false
		}
		u := binary.BigEndian.Uint64(v)
		if phoenix {
			i := int64(u - 1)
			u = uint64(i ^ (^i>>63 | math.MinInt64))
		}
		return appendJavaFloat(dst, math.Float64frombits(u), 64), true
	}
}

// maxDecimalBytes is the size of the unscaled value of a decimal of MaxDigits digits, with its sign. The time to write digits grows with the square of
// their number.
const maxDecimalBytes = MaxDigits*10/3/8 + 1

// decimalBytesText appends the decimal that Bytes.toBigDecimal decodes, in plain notation unless its scale is negative or above 1000. A larger
// number than a decimal may be is not a value of the type.
func decimalBytesText(dst, v []byte) ([]byte, bool) {
	if len(v) < 5 || len(v) > 4+maxDecimalBytes && len(valuetext.Significant(v[4:])) > maxDecimalBytes {
		return dst, false
	}
	scale := int(int32(binary.BigEndian.Uint32(v)))
	if scale >= 0 && scale <= MaxDigits {
		return valuetext.AppendDecimal(dst, v[4:], scale), true
	}
	dst = append(valuetext.AppendDecimal(dst, v[4:], 0), 'E')
	return strconv.AppendInt(dst, int64(-scale), 10), true
}

// instantText returns an appender that writes dates and timestamps in the format of the input.
func instantText(dates *keygen.Dates, phoenix bool) Appender {
	return func(dst, v []byte) ([]byte, bool) {
		ms, nanos, ok := instantOf(v, phoenix)
		if !ok {
			return dst, false
		}
		dst, err := dates.Append(dst, ms, nanos)
		return dst, err == nil
	}
}
