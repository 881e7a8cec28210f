package hfile

import "testing"

// TestName is stable: an attempt of this version resumes one of an earlier version by the names of its files.
func TestName(t *testing.T) {
	if got := Name("%q %q %d %q", "ns:t", "f", 1700000000000, []byte("k\x00")); got != "930891c96f87b4a208539813018f166e" {
		t.Errorf("%s", got)
	}
}
