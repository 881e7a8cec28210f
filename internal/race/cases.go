package race

import "testing"

// Cases is n, the cases of a random test, and a fiftieth of it with -short or with the race detector.
func Cases(n int) int {
	if On || testing.Short() {
		return n / 50
	}
	return n
}
