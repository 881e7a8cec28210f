package build

import (
	"math"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
)

// TestTooLong checks which splits have records whose sequence numbers do not ascend, by the numbers themselves.
func TestTooLong(t *testing.T) {
	const limit = 1 << offsetBits
	for _, s := range []source.Split{{Start: 0, End: limit}, {Start: 0, End: limit + 1}, {Start: limit - 1, End: limit}, {Start: limit - 5, End: limit + 5},
		{Start: limit, End: limit + 100}, {Start: limit, End: 2*limit + 1}, {Start: 3*limit - 1, End: 3 * limit}} {
		falls := sequence(7, s.End-1) < sequence(7, s.Start)
		if s.End-s.Start > limit { // it falls within, and may ascend to its end
			falls = true
		}
		if got := tooLong(s, s.End-1); got != falls {
			t.Errorf("from %d to %d: %t", s.Start, s.End, got)
		}
	}
	packed := source.Split{Path: "in.csv.gz", End: math.MaxInt64}
	if tooLong(packed, limit-1) || !tooLong(packed, limit) {
		t.Error("the limit of packed text is another one")
	}
	err := errTooLong(packed)
	if testcheck.Says(t, "packed text", err, "in.csv.gz", "several files"); fail.KindOf(err) != fail.Input {
		t.Errorf("kind %d", fail.KindOf(err))
	}
}
