package rowkey

import (
	"fmt"
	"regexp"
	"strings"
)

const digits = "0123456789ABCDEF"

// Append appends a key in the form of Bytes.toStringBinary: printable ASCII unchanged except for the backslash, every other byte as \xNN
// with upper-case digits.
func Append(dst, key []byte) []byte {
	for _, c := range key {
		if c >= ' ' && c <= '~' && c != '\\' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '\\', 'x', digits[c>>4], digits[c&15])
		}
	}
	return dst
}

// String returns a key in the form of [Append].
func String(key []byte) string { return string(Append(nil, key)) }

// Parse reads the output of [Append]. It rejects a backslash that does not begin \xNN with upper-case digits: Bytes.toBytesBinary takes
// that for text. The error names the position, from 1, and the correct form. Other bytes of the text are the key's bytes. The caller owns
// the key.
func Parse(text string) ([]byte, error) {
	key := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' {
			b, err := escape(text[i+1:])
			if err != nil {
				return nil, fmt.Errorf("position %d: %w", i+1, err)
			}
			c = b
			i += 3
		}
		key = append(key, c)
	}
	return key, nil
}

// escape reads the escape after a backslash.
func escape(s string) (byte, error) {
	if len(s) < 3 || s[0] != 'x' {
		return 0, fmt.Errorf(`a backslash begins no escape \xNN (a backslash itself is \x5C, a comma in a list \x2C)`)
	}
	if up := strings.ToUpper(s[1:3]); up != s[1:3] && hex(up[0]) >= 0 && hex(up[1]) >= 0 {
		return 0, fmt.Errorf(`HBase reads \x%s as text: the digits of an escape are upper case, \x%s`, s[1:3], up)
	}
	hi, lo := hex(s[1]), hex(s[2])
	if hi < 0 || lo < 0 {
		return 0, fmt.Errorf(`%q are not two hexadecimal digits of an escape \xNN`, s[1:3])
	}
	return byte(hi<<4 | lo), nil
}

func hex(c byte) int { return strings.IndexByte(digits, c) }

// Key is a row key that prints in HBase's text form.
type Key []byte

// MarshalText prints the key.
func (k Key) MarshalText() ([]byte, error) { return Append(nil, k), nil }

// UnmarshalText reads the output of MarshalText, and that of earlier versions, which wrote \\, \, and lower-case digits.
func (k *Key) UnmarshalText(text []byte) error {
	key, err := Parse(oldEscapes.ReplaceAllStringFunc(string(text), func(old string) string {
		switch old {
		case `\\`, `\,`:
			return String([]byte{old[1]})
		}
		return `\x` + strings.ToUpper(old[2:])
	}))
	if err != nil {
		return fmt.Errorf("row key %q: %w", text, err)
	}
	*k = key
	return nil
}

// oldEscapes matches the escapes of every version.
var oldEscapes = regexp.MustCompile(`\\(?:\\|,|x[0-9A-Fa-f]{2})`)

// Keys converts rows to keys, nil if there are none.
func Keys(rows [][]byte) (keys []Key) {
	for _, row := range rows {
		keys = append(keys, row)
	}
	return keys
}

// Rows converts keys to rows, nil if there are none.
func Rows(keys []Key) (rows [][]byte) {
	for _, key := range keys {
		rows = append(rows, key)
	}
	return rows
}
