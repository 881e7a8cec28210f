package hfile

import "testing"

// TestName checks that names are stable: this version resumes attempts of earlier versions by the names of
// their files.
func TestName(t *testing.T) {
	if got := Name("%q %q %d %q", "ns:t", "f", 1700000000000, []byte("k\x00")); got != "930891c96f87b4a208539813018f166e" {
		t.Errorf("%s", got)
	}
}
