package rejects

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"bulkload/internal/formats/charset"
)

// set returns the character set of the records' bytes, nil if they are UTF-8 or not decoded.
func (f *Form) set() (*charset.Charset, error) {
	if f == nil {
		return nil, nil
	}
	name := f.Charset
	if f.Dialect != nil {
		name = cmp.Or(name, f.Dialect.Charset)
	}
	if name == "" {
		return nil, nil
	}
	set, err := charset.Lookup(name)
	if err != nil || set.Name() == "utf-8" {
		return nil, err
	}
	return set, nil
}

// readsAlike reports whether bytes are the same characters in a set as in UTF-8, like ASCII in most sets. Only then can a record be written as
// text and read back from it. A character that is split between two pieces of 32 KiB counts as different.
func readsAlike(raw []byte, set *charset.Charset) bool {
	if set == nil || !utf8.Valid(raw) {
		return utf8.Valid(raw)
	}
	var text []byte
	for piece := range slices.Chunk(raw, 32<<10) { // piece by piece, because a record may be large
		var bad int
		if text, bad = set.Append(text[:0], piece); bad >= 0 || !bytes.Equal(text, piece) {
			return false
		}
	}
	return true
}
