package celltype

import (
	"errors"
	"unicode/utf8"
)

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
