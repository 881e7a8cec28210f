package celltype

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"bulkload/pkg/keygen"
)

// A Reverter gives the text of a value that a [Converter] made. It says no to
// bytes that are none of its type.
type Reverter func(value []byte) (string, bool)

// Reverter is that of the type, nil for text and for types whose values
// are shown as they are: Phoenix's decimals.
func (c Type) Reverter() Reverter {
	phoenix := c.Encoding == "phoenix"
	switch c.Type {
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
		return func(v []byte) (string, bool) {
			return strconv.FormatBool(len(v) == 1 && v[0] != 0), len(v) == 1
		}
	case "decimal":
		if !phoenix {
			return decimalOf
		}
	case "date", "timestamp":
		if dates, err := c.dates(); err == nil {
			return instantText(dates, phoenix)
		}
	}
	return nil
}

func integerText(size int, phoenix bool) Reverter {
	return func(v []byte) (string, bool) {
		if len(v) != size {
			return "", false
		}
		var u uint64
		for i, b := range v {
			u |= uint64(b) << (56 - 8*i)
		}
		if phoenix {
			u ^= 1 << 63
		}
		return strconv.FormatInt(int64(u)>>(64-8*size), 10), true
	}
}

// javaFloat writes numbers as Java's BigDecimal and strconv read them, and what is none by Java's names.
func javaFloat(f float64, bits int) string {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

func floatText(phoenix bool) Reverter {
	return func(v []byte) (string, bool) {
		if len(v) != 4 {
			return "", false
		}
		u := binary.BigEndian.Uint32(v)
		if phoenix {
			i := int32(u - 1)
			u = uint32(i ^ (^i>>31 | math.MinInt32))
		}
		return javaFloat(float64(math.Float32frombits(u)), 32), true
	}
}

func doubleText(phoenix bool) Reverter {
	return func(v []byte) (string, bool) {
		if len(v) != 8 {
			return "", false
		}
		u := binary.BigEndian.Uint64(v)
		if phoenix {
			i := int64(u - 1)
			u = uint64(i ^ (^i>>63 | math.MinInt64))
		}
		return javaFloat(math.Float64frombits(u), 64), true
	}
}

// decimalOf is the plain notation of Bytes.toBigDecimal.
func decimalOf(v []byte) (string, bool) {
	if len(v) < 5 {
		return "", false
	}
	scale := int(int32(binary.BigEndian.Uint32(v)))
	n := new(big.Int).SetBytes(v[4:])
	if v[4]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v[4:]))))
	}
	if scale <= 0 || scale > maxDecimal {
		text := n.String()
		if scale != 0 {
			text += "E" + strconv.Itoa(-scale)
		}
		return text, true
	}
	digits := new(big.Int).Abs(n).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	at := len(digits) - scale
	return sign + digits[:at] + "." + digits[at:], true
}

// instantText gives points in time as they are written in the input.
func instantText(dates *keygen.Dates, phoenix bool) Reverter {
	return func(v []byte) (string, bool) {
		if len(v) != 8 && !(phoenix && len(v) == 12) {
			return "", false
		}
		u, nanos := binary.BigEndian.Uint64(v), 0
		if phoenix {
			u ^= 1 << 63
		}
		if len(v) == 12 {
			nanos = int(binary.BigEndian.Uint32(v[8:]))
		}
		if nanos >= int(time.Millisecond) {
			return "", false
		}
		text, err := dates.Append(nil, int64(u), nanos)
		return string(text), err == nil
	}
}
