package bench

import "testing"

// TestStatCPU parses lines of proc(5), with program names that look like further fields.
func TestStatCPU(t *testing.T) {
	for line, want := range map[string]float64{
		"7 (java) S 1 7 7 0 -1 4194560 9 9 9 9 150 25 0 0 20 0 40 0 1 2 3": 1.75,
		"7 (a) 1 (b) R 1 7 7 0 -1 0 9 9 9 9 10 0 0 0 20":                   0.1,
		"7 (java) S 1": 0,
		"":             0,
	} {
		if got := statCPU(line); got != want {
			t.Errorf("%q: %v s, not %v", line, got, want)
		}
	}
}
