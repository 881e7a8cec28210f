package rowtext

import (
	"strings"
	"unicode/utf8"

	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// rowLabel returns the name of a cell's column, which no other column has. Where the qualifier alone could be taken for another column, or for the
// row key, the family precedes it; a backslash that could be taken for the beginning of \xNN is \x5C.
func rowLabel(c *loader.Cell, family string) string {
	name := textOf(c.Qualifier, "")
	if isText(c.Qualifier, "") && strings.Contains(name, `\x`) {
		name = strings.ReplaceAll(name, `\`, `\x5C`)
	}
	if string(c.Family) != family || name == "rowkey" || strings.Contains(name, ":") {
		return textOf(c.Family, "") + ":" + name
	}
	return name
}

// textOf returns bytes as text. UTF-8 without control characters, except those of the given list, is unchanged. Otherwise each
// backslash and each byte that is not text becomes \xNN.
func textOf(v []byte, controls string) string {
	if isText(v, controls) {
		return string(v)
	}
	var text []byte
	for len(v) > 0 {
		_, n := utf8.DecodeRune(v)
		if v[0] != '\\' && isText(v[:n], controls) {
			text = append(text, v[:n]...)
		} else {
			text = rowkey.Append(text, v[:1])
		}
		v = v[n:]
	}
	return string(text)
}

func isText(v []byte, controls string) bool {
	for _, c := range v {
		if (c < 0x20 || c == 0x7f) && strings.IndexByte(controls, c) < 0 {
			return false
		}
	}
	return utf8.Valid(v)
}
