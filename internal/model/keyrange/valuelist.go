package keyrange

import (
	"encoding/hex"
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
		default:
			b, err := hex.DecodeString(s[min(i+2, len(s)):min(i+4, len(s))])
			if err != nil || len(b) != 1 || s[i+1] != 'x' {
				return nil, fmt.Errorf("position %d: %w", i+1, errEscape)
			}
			cur = append(cur, b[0])
			i += 3
		}
	}
	return append(values, string(cur)), nil
}
