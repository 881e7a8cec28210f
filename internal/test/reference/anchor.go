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
