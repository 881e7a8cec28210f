package export

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"bulkload/pkg/source/dialect"
)

// append appends a value. first is true for the first value of a record.
func (t *text) append(dst, v []byte, first bool, columns int) ([]byte, error) {
	if t.utf8 && !utf8.Valid(v) {
		return dst, errNotUTF8
	}
	if t.dialect.Quote != "" {
		if t.bare(v, first, columns) {
			return append(dst, v...), nil
		}
		return t.quoted(dst, v)
	}
	at := len(dst)
	dst, err := t.unquoted(dst, v)
	if err != nil {
		return dst, err
	}
	switch raw := dst[at:]; {
	case t.dialect.IsNull(raw, false):
		// An escape before the first byte makes the text differ from that for NULL, unless the escaped byte has a meaning of its own.
		if len(v) == 0 || t.unescape == nil || t.special[v[0]] {
			return dst, errNull
		}
		if c, n := t.unescape.One(v); c != v[0] || n != 1 {
			return dst, errNull
		}
		dst = append(dst, 0)
		copy(dst[at+1:], dst[at:])
		dst[at] = t.dialect.Escape[0]
		if t.dialect.IsNull(dst[at:], false) {
			return dst, errNull
		}
	case first && t.comments(raw):
		return dst, errComment
	case first && bytes.HasPrefix(bytes.TrimLeft(raw, "\x1a"), bom):
		return dst, errMark
	case t.trimmed(v):
		return dst, errBlanks
	}
	return dst, nil
}

// bare reports whether a value needs no quotes.
func (t *text) bare(v []byte, first bool, columns int) bool {
	for _, c := range v {
		if t.special[c] {
			return false
		}
	}
	if len(v) == 0 && columns == 1 { // otherwise the line would be empty
		return false
	}
	if string(v) == `\N` { // readers that detect the format take a bare \N for NULL
		return false
	}
	return !t.dialect.IsNull(v, false) && !(first && (t.comments(v) || bytes.HasPrefix(v, bom))) && !t.trimmed(v)
}

// bom is the byte order mark, which readers skip at the beginning of a file.
var bom = []byte("\xef\xbb\xbf")

// comments reports whether a record that begins with the value could look like a comment.
func (t *text) comments(v []byte) bool {
	c := t.dialect.Comment
	if c == "" || len(v) >= len(c) {
		return c != "" && string(v[:len(c)]) == c
	}
	rest, ok := strings.CutPrefix(c, string(v))
	return ok && strings.HasPrefix(t.dialect.FieldSep, rest[:min(len(rest), len(t.dialect.FieldSep))])
}

func (t *text) trimmed(v []byte) bool {
	blank := func(c byte) bool { return c == ' ' || c == '\t' }
	return t.dialect.Trim != dialect.TrimNone && len(v) > 0 && (blank(v[0]) || blank(v[len(v)-1]))
}

func (t *text) quoted(dst, v []byte) ([]byte, error) {
	if t.dialect.NullQuoted && t.dialect.IsNull(v, true) {
		return dst, errNull
	}
	quote := t.dialect.Quote[0]
	dst = append(dst, quote)
	for _, c := range v {
		switch {
		case t.dialect.Doubled && c == quote:
			dst = append(dst, quote)
		case t.unescape != nil && c == t.dialect.Escape[0], c == quote:
			if t.unescape == nil {
				return dst, errSeparator
			}
			if b, n := t.unescape.One([]byte{c}); b != c || n != 1 {
				return dst, errSeparator
			}
			dst = append(dst, t.dialect.Escape[0])
		}
		dst = append(dst, c)
	}
	return append(dst, quote), nil
}

// unquoted appends a value in a dialect without quotes.
func (t *text) unquoted(dst, v []byte) ([]byte, error) {
	if t.unescape == nil {
		at := len(dst)
		dst = append(dst, v...)
		return dst, t.separates(dst[at:])
	}
	for _, c := range v {
		if !t.special[c] {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, t.dialect.Escape[0])
		if l := t.letters[c]; l != 0 {
			dst = append(dst, l)
			continue
		}
		if b, n := t.unescape.One([]byte{c}); b != c || n != 1 {
			return dst, errSeparator
		}
		dst = append(dst, c)
	}
	return dst, nil
}

// separates returns an error if a value contains a separator, or could form one across its end.
func (t *text) separates(v []byte) error {
	plain := true
	for _, c := range v {
		if t.special[c] {
			plain = false
			break
		}
	}
	if plain {
		return nil
	}
	if t.dialect.RecordSep == "" && bytes.ContainsAny(v, "\r\n") {
		return errSeparator
	}
	for _, sep := range []string{t.dialect.FieldSep, t.end} {
		if bytes.Contains(v, []byte(sep)) {
			return errSeparator
		}
		for _, next := range []string{t.dialect.FieldSep, t.end} {
			for n := 1; n < len(sep); n++ {
				if bytes.HasSuffix(v, []byte(sep[:n])) && strings.HasPrefix(next, sep[n:]) {
					return errSeparator
				}
			}
		}
	}
	return nil
}
