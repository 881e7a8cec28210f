package jsonlines

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// appendUnescaped appends the text of a string; raw is the string without its quotes, which scanString accepted. The text
// is never longer than raw.
func appendUnescaped(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		for i < len(raw) && raw[i] == '\\' { // runs of escapes need no search
			n := 2
			switch c := raw[i+1]; c {
			case 'b':
				dst = append(dst, '\b')
			case 'f':
				dst = append(dst, '\f')
			case 'n':
				dst = append(dst, '\n')
			case 'r':
				dst = append(dst, '\r')
			case 't':
				dst = append(dst, '\t')
			case 'u':
				n = 6
				r, _ := hex4(raw, i+2)
				if utf16.IsSurrogate(r) {
					n = 12
					low, _ := hex4(raw, i+8)
					r = utf16.DecodeRune(r, low)
				}
				dst = utf8.AppendRune(dst, r)
			default:
				dst = append(dst, c)
			}
			i += n
		}
		raw = raw[i:]
	}
}
