package job

import (
	"errors"
	"unicode/utf8"
)

// member is one member of a JSON object that a record becomes.
type member struct {
	column int
	name   []byte // as JSON, with the colon
}

func newMember(name string, column int) member {
	text, err := appendJSONText(nil, []byte(name))
	if err != nil { // the name of a column in no encoding
		text, _ = appendJSONText(nil, []byte(string([]rune(name))))
	}
	return member{column: column, name: append(text, ':')}
}

var errNotUTF8 = errors.New("value is not valid UTF-8, which JSON needs")

const hexDigits = "0123456789abcdef"

// appendJSONText appends a JSON string.
func appendJSONText(dst, text []byte) ([]byte, error) {
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
