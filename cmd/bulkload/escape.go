package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"bulkload/pkg/rowkey"
)

var errEscape = errors.New(`escape is none of \\, \, and \xNN`)

// parseValues reads values separated by commas, with the escapes \xNN, \\ and \,.
func parseValues(s string) ([]string, error) {
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
	return c | 0x20 - 'a' + 10
}

// appendText appends bytes as text: UTF-8 without control characters, but for
// those of the given list, is as it is; else each byte that is none, and the
// backslash, becomes \xNN.
func appendText(dst, v []byte, controls string) []byte {
	if isText(v, controls) {
		return append(dst, v...)
	}
	for len(v) > 0 {
		_, n := utf8.DecodeRune(v)
		switch {
		case v[0] != '\\' && isText(v[:n], controls):
			dst = append(dst, v[:n]...)
		default:
			dst = rowkey.Append(dst, v[:1])
		}
		v = v[n:]
	}
	return dst
}

func isText(v []byte, controls string) bool {
	for _, c := range v {
		if (c < 0x20 || c == 0x7f) && strings.IndexByte(controls, c) < 0 {
			return false
		}
	}
	return utf8.Valid(v)
}
