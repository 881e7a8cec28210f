package race

import "testing"

// ReducedMark is in the log of a test that does less than it could, because of [Reduced].
const ReducedMark = "takes fewer cases with -short or the race detector"

// Reduced reports whether a test should take fewer cases, with -short or with the race detector, and logs that. Package testrun runs such a
// test once more with all cases.
func Reduced(t testing.TB) bool {
	t.Helper()
	if !On && !testing.Short() {
		return false
	}
	t.Log(ReducedMark)
	return true
}

// Plain skips a test with the race detector: one with a single goroutine, or one that starts many programs.
func Plain(t testing.TB) {
	t.Helper()
	if On {
		t.Skip("runs without the race detector")
	}
}

// Cases returns n, the number of cases of a random test, or a fiftieth of it if the test is [Reduced].
func Cases(t testing.TB, n int) int {
	t.Helper()
	if Reduced(t) {
		return n / 50
	}
	return n
}
