package ending

import (
	"errors"
	"strings"
	"testing"
)

// TestErrorText checks that a result stays small, whatever the length of an error.
func TestErrorText(t *testing.T) {
	for _, s := range []string{strings.Repeat("ä", 5000), strings.Repeat("\xffa", 4000), strings.Repeat("x", 3999) + "日本"} {
		if got := errorText(errors.New(s)); len(got) > mostError+4 || !strings.HasSuffix(got, "…") || strings.ContainsRune(strings.TrimSuffix(got, " …"), '\x00') {
			t.Errorf("%d bytes: …%q", len(got), got[len(got)-10:])
		}
	}
	if errorText(nil) != "" || errorText(ErrAlready) != "" {
		t.Error("no error has a text")
	}
}
