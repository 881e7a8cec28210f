package reference

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostMessage is how many characters the text of a message has at most, before values take the place of its verbs.
const mostMessage = 160

// TestMessageLength: a message is one line of at most 160 characters. testdata/long.txt has those that are still longer; it only
// gets shorter.
func TestMessageLength(t *testing.T) {
	all, err := Messages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var long []string
	for _, m := range all {
		if m.Error && (utf8.RuneCountInString(m.Format) > mostMessage || strings.Contains(m.Format, "\n")) {
			long = append(long, m.File+": "+strings.ReplaceAll(m.Format, "\n", `\n`))
		}
	}
	const list = "testdata/long.txt"
	b, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	allowed := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for _, l := range long {
		if !slices.Contains(allowed, l) {
			t.Errorf("longer than %d characters, or of several lines: %s", mostMessage, l)
		}
	}
	for _, l := range allowed {
		if !slices.Contains(long, l) {
			t.Errorf("%s lists a message that the code has no more: %s", list, l)
		}
	}
}
