package race

import "testing"

// ReducedMark is in the log of a test that does less than it could, for which [Reduced] was asked.
const ReducedMark = "takes fewer cases with -short or the race detector"

// Reduced says that a test is to take fewer cases, with -short or with the race detector, and notes in its log that it does: package testrun
// runs such a test once more, whole.
func Reduced(t testing.TB) bool {
	t.Helper()
	if !On && !testing.Short() {
		return false
	}
	t.Log(ReducedMark)
	return true
}

// Plain leaves a test to the run without the race detector: one in which a single goroutine works, or which starts many programs.
func Plain(t testing.TB) {
	t.Helper()
	if On {
		t.Skip("runs without the race detector")
	}
}

// Cases is n, the cases of a random test, or a fiftieth of it when the test is [Reduced].
func Cases(t testing.TB, n int) int {
	t.Helper()
	if Reduced(t) {
		return n / 50
	}
	return n
}
