package keyrange

import (
	"errors"
	"fmt"
)

var errEscape = errors.New(`unknown escape: want \\, \, or \xNN`)

// ParseValues parses the comma-separated values of a bound or a prefix, with the escapes \xNN, \\ and \,. An empty text is one empty value. The error
// reports the position, without the value.
func ParseValues(s string) ([]string, error) {
	var values []string
	cur := []byte{}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ',':
			values = append(values, string(cur))
			cur = cur[:0]
		case c != '\\':
			cur = append(cur, c)
		case i+1 < len(s) && (s[i+1] == '\\' || s[i+1] == ','):
			i++
			cur = append(cur, s[i])
		case i+3 < len(s) && s[i+1] == 'x' && isHex(s[i+2]) && isHex(s[i+3]):
			cur = append(cur, hexValue(s[i+2])<<4|hexValue(s[i+3]))
			i += 3
		default:
			return nil, fmt.Errorf("position %d: %w", i+1, errEscape)
		}
	}
	return append(values, string(cur)), nil
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}
