package reference

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// maxMessage is the greatest number of characters of a message's text, before values replace its verbs.
const maxMessage = 160

// TestMessageLength checks that a message is one line of at most 160 characters.
func TestMessageLength(t *testing.T) {
	all, err := Messages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Error && (utf8.RuneCountInString(m.Format) > maxMessage || strings.Contains(m.Format, "\n")) {
			t.Errorf("%s: longer than %d characters, or of several lines: %q", m.File, maxMessage, m.Format)
		}
	}
}
