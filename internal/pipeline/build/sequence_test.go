package build

import (
	"math"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/test/jobtest"
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

// TestTooManySplits checks that a split whose ordinal has no room in a sequence number is refused before anything is read, by a build of the whole
// input and of a part, and that the last one with room has the greatest number.
func TestTooManySplits(t *testing.T) {
	const most = 1 << 24
	if last := sequence(most-1, 1<<offsetBits-1); last != math.MaxUint64 || sequence(most, 0) >= last {
		t.Fatalf("the last sequence number is %d", last)
	}
	r := &readers{in: &source.Input{}, end: most}
	r.next.Store(most) // the one after the last
	testcheck.Must(t, r.refuseLong())
	r.end++
	whole := r.refuseLong()

	j := jobtest.Resolve(t, jobtest.CSVSpec(writeInput(t, "x.csv", "id,v\n1,a\n")))
	k, err := OpenInput(t.Context(), jobtest.Env(t).Source, j, WorkOptions{})
	testcheck.Must(t, err)
	plans, err := NewPlans(j, k.Source.Columns(), tablesShapes(t, j, nil), 0)
	testcheck.Must(t, err)
	_, part := ReadPart(t.Context(), plans, k.Source, Part{most, most + 1}, nil, chunk.Options{}, Options{Budget: k.Budget, SpillDir: t.TempDir()})
	for what, err := range map[string]error{"whole": whole, "part": part, "plan": RefuseSplits(most + 1)} {
		if testcheck.Says(t, what, err, "16777217 splits", "16777216", "several jobs"); fail.KindOf(err) != fail.Input {
			t.Errorf("%s: kind %d", what, fail.KindOf(err))
		}
	}
	testcheck.Must(t, RefuseSplits(most))
}
