package rowkey

import (
	"fmt"
	"regexp"
	"strings"
)

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
