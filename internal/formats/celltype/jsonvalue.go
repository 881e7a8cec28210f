package celltype

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"bulkload/pkg/keygen"
)

// JSONForm describes the JSON form of a type's values, with a type and a format in the terms of JSON Schema. Values of long and decimal, which a
// double cannot always hold, are strings, because JavaScript readers would lose digits. Safe for concurrent use.
type JSONForm struct {
	Type   string // string, integer, number or boolean
	Format string // int32, int64, float, double, decimal, date or date-time; empty: none
	write  func(dst, value []byte) ([]byte, bool)
}

// JSON returns the form of the type's values. The zero JSONForm is that of text.
func (c Type) JSON() JSONForm {
	phoenix := c.Encoding == "phoenix"
	switch c.base() {
	case "short":
		return JSONForm{"integer", "int32", integerText(2, phoenix)}
	case "int":
		return JSONForm{"integer", "int32", integerText(4, phoenix)}
	case "long":
		return JSONForm{"string", "int64", quoted(integerText(8, phoenix))}
	case "float":
		return JSONForm{"number", "float", textJSON(floatText(phoenix), isFinite)}
	case "double":
		return JSONForm{"number", "double", textJSON(doubleText(phoenix), isFinite)}
	case "boolean":
		return JSONForm{"boolean", "", textJSON(c.Appender(), func(string) bool { return true })}
	case "decimal":
		never := func(string) bool { return false }
		if phoenix {
			return JSONForm{"string", "decimal", func(dst, _ []byte) ([]byte, bool) { return dst, false }}
		}
		return JSONForm{"string", "decimal", textJSON(decimalBytesText, never)}
	case "date":
		if dates, err := keygen.NewDates("yyyy-MM-dd", c.Zone); err == nil && !hasTime(c.layoutOr("yyyy-MM-dd")) {
			return JSONForm{"string", "date", dateJSON(dates, phoenix)}
		}
		return JSONForm{"string", "date-time", instantJSON(phoenix)}
	case "timestamp":
		return JSONForm{"string", "date-time", instantJSON(phoenix)}
	}
	return JSONForm{Type: "string"}
}

// hasTime reports whether a layout has a time of the day or an offset, so that its values need not be starts of days in the type's zone.
func hasTime(layout string) bool {
	for i, part := range strings.Split(layout, "'") {
		if i%2 == 0 && strings.ContainsAny(part, "HhKkmsSnNAauXxZzOV") { // the others are quoted
			return true
		}
	}
	return false
}

// BytesJSON returns the form of values whose type is not known: all are written as {"base64":"…"}.
func BytesJSON() JSONForm {
	return JSONForm{Type: "string", write: func(dst, _ []byte) ([]byte, bool) { return dst, false }}
}

func (c Type) layoutOr(layout string) string {
	return cmp.Or(c.Layout, layout)
}

// Append appends a value. Bytes that are not a value of the type, or text that is not UTF-8, are written as {"base64":"…"} for every type.
func (f JSONForm) Append(dst, value []byte) []byte {
	n := len(dst)
	if f.write != nil {
		if out, ok := f.write(dst, value); ok {
			return out
		}
		return appendBase64(dst[:n], value)
	}
	out, err := AppendJSON(dst, value)
	if err != nil {
		return appendBase64(out[:n], value)
	}
	return out
}

func appendBase64(dst, value []byte) []byte {
	dst = append(dst, `{"base64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, value), `"}`...)
}

// textJSON returns a function that writes the text of an Appender: without quotes if bare returns true for it, else as a string.
func textJSON(text Appender, bare func(string) bool) func(dst, value []byte) ([]byte, bool) {
	return func(dst, value []byte) ([]byte, bool) {
		at := len(dst)
		dst, ok := text(append(dst, '"'), value)
		if !ok {
			return dst, false
		}
		if bare(string(dst[at+1:])) {
			return append(dst[:at], dst[at+1:]...), true
		}
		return append(dst, '"'), true
	}
}

// isFinite reports whether a float's text is a number of JSON: not NaN and not an infinity.
func isFinite(s string) bool { return s != "NaN" && s != "Infinity" && s != "-Infinity" }

func quoted(bare Appender) func(dst, value []byte) ([]byte, bool) {
	return func(dst, value []byte) ([]byte, bool) {
		dst, ok := bare(append(dst, '"'), value)
		return append(dst, '"'), ok
	}
}

// instantOf decodes the bytes that instant writes.
func instantOf(v []byte, phoenix bool) (ms int64, nanos int, ok bool) {
	if len(v) != 8 && !(phoenix && len(v) == 12) {
		return 0, 0, false
	}
	u := binary.BigEndian.Uint64(v)
	if phoenix {
		u ^= 1 << 63
	}
	if len(v) == 12 {
		n := binary.BigEndian.Uint32(v[8:])
		if n >= uint32(time.Millisecond) {
			return 0, 0, false
		}
		nanos = int(n)
	}
	return int64(u), nanos, true
}

// instantJSON writes RFC 3339 in UTC, without trailing zeros in the fraction of a second, for the years 0 to 9999.
func instantJSON(phoenix bool) func(dst, value []byte) ([]byte, bool) {
	return func(dst, value []byte) ([]byte, bool) {
		ms, nanos, ok := instantOf(value, phoenix)
		if !ok || ms < minMillis || ms > maxMillis {
			return dst, false
		}
		t := time.UnixMilli(ms).Add(time.Duration(nanos)).UTC()
		return append(t.AppendFormat(append(dst, '"'), "2006-01-02T15:04:05.999999999Z"), '"'), true
	}
}

// The years 0 to 9999, the range of RFC 3339, in milliseconds since 1970.
const (
	minMillis = -62167219200_000
	maxMillis = 253402300799_999
)

// dateJSON writes a day. A time that is not the start of a day is not a date.
func dateJSON(dates *keygen.Dates, phoenix bool) func(dst, value []byte) ([]byte, bool) {
	return func(dst, value []byte) ([]byte, bool) {
		ms, nanos, ok := instantOf(value, phoenix)
		if !ok || nanos != 0 || ms == math.MinInt64 {
			return dst, false
		}
		n := len(dst) + 1
		dst, err := dates.Append(append(dst, '"'), ms, 0)
		if err != nil {
			return dst, false
		}
		if start, _, err := dates.Parse(dst[n:]); err != nil || start != ms {
			return dst, false
		}
		return append(dst, '"'), true
	}
}

var errNotUTF8 = errors.New("value is not valid UTF-8, which JSON needs")

const hexDigits = "0123456789abcdef"

// AppendJSON appends a JSON string.
func AppendJSON(dst, text []byte) ([]byte, error) {
	dst = append(dst, '"')
	from, plain := 0, true
	for i, c := range text {
		if c >= 0x80 {
			plain = false
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	if !plain && !utf8.Valid(text) {
		return dst, errNotUTF8
	}
	dst = append(dst, text[from:]...)
	return append(dst, '"'), nil
}
