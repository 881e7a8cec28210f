package celltype

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"bulkload/pkg/keygen"
)

// A Converter converts the text of a value, which is not empty, to bytes of a type and appends them. Several goroutines may call it at once. It
// allocates only for an error. After an error, the appended bytes are undefined.
type Converter func(dst, text []byte) ([]byte, error)

// ErrValue is wrapped by errors about text that has no bytes in a type.
var ErrValue = errors.New("value cannot be converted")

// valueError matches ErrValue, but its message is only the description of the fault.
type valueError struct{ *keygen.ValueError }

func (valueError) Is(target error) bool { return target == ErrValue }
func (e valueError) Unwrap() error      { return e.ValueError }

// ValueError returns an error about text that is not a value of its type.
func ValueError(text []byte, why string) error {
	return valueError{keygen.NewValueError(text, errors.New(why))}
}

// Names lists the names of types in the order of messages.
const Names = "text, short, int, long, float, double, boolean, decimal, decimal(P,S), date, timestamp"

// Type describes the conversion of a column's text to bytes of a cell and back. Its zero value is text, whose bytes are stored unchanged.
type Type struct {
	Type     string // one of [Names], where decimal(P,S) stands for types such as decimal(18,2); empty: text
	Encoding string // hbase (default) or phoenix
	Layout   string // of a date or timestamp, default yyyy-MM-dd and yyyy-MM-dd HH:mm:ss[.SSS]
	Zone     string // of the text, default UTC
}

// Converter returns the converter of the type, nil for text.
func (c Type) Converter() (Converter, error) {
	phoenix := false
	switch c.Encoding {
	case "", "hbase":
	case "phoenix":
		phoenix = true
	default:
		return nil, fmt.Errorf("encoding %q is invalid: want hbase or phoenix", c.Encoding)
	}
	precision, scale, fixed, err := c.Decimal()
	if err != nil {
		return nil, err
	}
	timed := c.Type == "date" || c.Type == "timestamp"
	if !timed && (c.Layout != "" || c.Zone != "") {
		return nil, fmt.Errorf("layout and zone are only for the types date and timestamp")
	}
	switch c.base() {
	case "", "text":
		return nil, nil
	case "short":
		return integer(2, phoenix), nil
	case "int":
		return integer(4, phoenix), nil
	case "long":
		return integer(8, phoenix), nil
	case "float":
		return floating(32, phoenix), nil
	case "double":
		return floating(64, phoenix), nil
	case "boolean":
		return boolean(phoenix), nil
	case "decimal":
		encode := appendHBaseDecimal
		if phoenix {
			encode = appendPhoenixDecimal
		}
		if fixed {
			return fixedDecimal(precision, scale, encode), nil
		}
		return encode, nil
	case "date", "timestamp":
		dates, err := c.dates()
		if err != nil {
			return nil, err
		}
		return instant(dates, phoenix, phoenix && c.Type == "timestamp"), nil
	}
	return nil, fmt.Errorf("type %q is invalid: want one of %s", c.Type, Names)
}

// dates returns the text format of a date or timestamp.
func (c Type) dates() (*keygen.Dates, error) {
	if c.Type == "timestamp" {
		return keygen.NewTimestamps(c.Layout, c.Zone)
	}
	return keygen.NewDates(c.layoutOr("yyyy-MM-dd"), c.Zone)
}

// integer returns a converter to big-endian two's complement of size bytes, as in HBase's Bytes.toBytes. For Phoenix it flips the sign bit, so that
// bytes sort like numbers.
func integer(size int, phoenix bool) Converter {
	name := map[int]string{2: "short", 4: "int", 8: "long"}[size]
	shift := 64 - 8*size
	return func(dst, text []byte) ([]byte, error) {
		v, why := ParseLong(text)
		if why == "" && (v<<shift)>>shift != v {
			why = "is out of range"
		}
		if why != "" {
			return dst, ValueError(text, why+" (type "+name+")")
		}
		u := uint64(v) << shift
		if phoenix {
			u ^= 1 << 63
		}
		for i := range size {
			dst = append(dst, byte(u>>(56-8*i)))
		}
		return dst, nil
	}
}

// ParseLong parses the ASCII numbers that Java's Long.parseLong accepts; why describes the fault, and is empty without one.
func ParseLong(text []byte) (v int64, why string) {
	digits, negative := text, false
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative, digits = digits[0] == '-', digits[1:]
	}
	if len(digits) == 0 {
		return 0, "is not a whole number"
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	u, over := uint64(0), false
	for _, c := range digits {
		d := uint64(c - '0')
		if d > 9 {
			return 0, "is not a whole number"
		}
		if u > (limit-d)/10 {
			over = true
		}
		u = u*10 + d
	}
	if over {
		return 0, "is out of range"
	}
	if negative {
		return -int64(u), ""
	}
	return int64(u), ""
}

// floating returns a converter to the bits of the nearest float or double. For Phoenix it changes them so that bytes sort like numbers (PFloat and
// PDouble, 5.1).
func floating(bits int, phoenix bool) Converter {
	name := map[int]string{32: "float", 64: "double"}[bits]
	return func(dst, text []byte) ([]byte, error) {
		v, err := parseFloat(text, bits)
		if err != nil {
			why := "is not a number"
			if errors.Is(err, strconv.ErrRange) {
				why = "is out of range"
			}
			return dst, ValueError(text, why+" (type "+name+")")
		}
		if bits == 32 {
			u := math.Float32bits(float32(v))
			if v != v {
				u = 0x7fc00000 // Java's NaN
			}
			if phoenix {
				i := int32(u)
				u = uint32(i^(i>>31|math.MinInt32)) + 1
			}
			return binary.BigEndian.AppendUint32(dst, u), nil
		}
		u := math.Float64bits(v)
		if v != v {
			u = 0x7ff8000000000000
		}
		if phoenix {
			i := int64(u)
			u = uint64(i^(i>>63|math.MinInt64)) + 1
		}
		return binary.BigEndian.AppendUint64(dst, u), nil
	}
}

var errSyntax = errors.New("syntax")

// parseFloat parses decimal numbers, and Java's names for infinities and NaN. It rejects other forms that strconv accepts and Java does not.
func parseFloat(text []byte, bits int) (float64, error) {
	switch string(text) {
	case "NaN":
		return math.NaN(), nil
	case "Infinity", "+Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c|0x20 != 'e' {
			return 0, errSyntax
		}
	}
	return strconv.ParseFloat(string(text), bits) // the string does not outlive the call: no allocation up to 32 bytes
}

// boolean returns a converter to one byte. True is -1 in HBase's Bytes.toBytes, and 1 in Phoenix.
func boolean(phoenix bool) Converter {
	yes := byte(0xff)
	if phoenix {
		yes = 1
	}
	return func(dst, text []byte) ([]byte, error) {
		var lower [len("false")]byte
		if len(text) <= len(lower) {
			for i, c := range text {
				if lower[i] = c; c >= 'A' && c <= 'Z' {
					lower[i] = c | 0x20
				}
			}
			switch string(lower[:len(text)]) {
			case "true", "1", "t", "y", "yes":
				return append(dst, yes), nil
			case "false", "0", "f", "n", "no":
				return append(dst, 0), nil
			}
		}
		return dst, ValueError(text, "is invalid: want true, false, t, f, yes, no, y, n, 1 or 0 (type boolean)")
	}
}

// instant returns a converter to milliseconds since 1970 in 8 bytes, as in Java's Date.getTime. For Phoenix it flips the sign bit; a Phoenix
// TIMESTAMP also has the nanoseconds within the millisecond, in 4 more bytes.
func instant(dates *keygen.Dates, phoenix, nanos bool) Converter {
	return func(dst, text []byte) ([]byte, error) {
		if !nanos {
			ms, err := dates.Millis(text)
			if err != nil {
				return dst, ValueError(text, "is "+err.Error())
			}
			return appendMillis(dst, ms, phoenix), nil
		}
		ms, ns, err := dates.Parse(text)
		if err != nil {
			return dst, ValueError(text, "is "+err.Error())
		}
		return binary.BigEndian.AppendUint32(appendMillis(dst, ms, phoenix), uint32(ns)), nil
	}
}

func appendMillis(dst []byte, ms int64, phoenix bool) []byte {
	u := uint64(ms)
	if phoenix {
		u ^= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, u)
}
