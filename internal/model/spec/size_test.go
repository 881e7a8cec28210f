package spec

import "testing"

// TestParseSize parses sizes, and refuses texts that are none, also with letters whose lower case has another length.
func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{"512MiB": 512 << 20, " 64m": 64 << 20, "1.5 GiB": 3 << 29, "1000": 1000, "7B": 7, "2Kb": 2048} {
		if got, err := ParseSize(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1 s", "\u023a", "1\u023a", "5\u0130", "9999999TiB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}
