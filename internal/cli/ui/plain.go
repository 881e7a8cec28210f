package ui

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain returns a writer of text for people. Control characters, which names of files and columns may have and a terminal would obey, become \xNN;
// line ends and tabs stay. A character is in one call of Write.
func Plain(w io.Writer) io.Writer { return plainWriter{w} }

type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(b []byte) (int, error) {
	_, err := io.WriteString(p.w, plain(string(b)))
	return len(b), err
}

func plain(text string) string {
	if !strings.ContainsFunc(text, obeyed) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		c, n := utf8.DecodeRuneInString(text)
		if obeyed(c) {
			fmt.Fprintf(&b, `\x%02X`, c)
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// obeyed reports whether a terminal obeys a character.
func obeyed(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }
