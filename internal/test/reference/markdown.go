package reference

import (
	"strings"
	"unicode"
)

// Anchor returns the part after the # of a link to a heading, in GitHub's form: lower case, without punctuation,
// blanks as hyphens.
func Anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// Escape returns a text that Markdown prints unchanged. Underscores within words and backslashes before letters are
// literal in Markdown, and are kept.
func Escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case strings.IndexByte("*`<|", c) >= 0,
			c == '_' && (i == 0 || i+1 == len(s) || !wordByte(s[i-1]) || !wordByte(s[i+1])),
			c == '\\' && i+1 < len(s) && s[i+1] > ' ' && s[i+1] < 0x7f && !wordByte(s[i+1]):
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_'
}
