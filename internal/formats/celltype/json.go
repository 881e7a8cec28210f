package celltype

import (
	"errors"
	"unicode/utf8"

	"bulkload/internal/formats/valuetext"
)

var errNotUTF8 = errors.New("value is not valid UTF-8, which JSON needs")

// AppendJSON appends a JSON string.
func AppendJSON(dst, text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return append(dst, '"'), errNotUTF8
	}
	return valuetext.AppendJSON(dst, text), nil
}
