package main

import (
	"strings"
	"unicode/utf8"

	"bulkload/pkg/keygen/rowkey"
)

// appendText appends bytes as text. UTF-8 without control characters, except those of the given list, is appended
// unchanged. Otherwise each backslash and each byte that is not text becomes \xNN.
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
