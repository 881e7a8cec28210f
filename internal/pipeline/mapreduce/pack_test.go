package mapreduce

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bulkload/internal/pipeline/build"
)

// TestPackRegions checks that large regions are alone and small ones together.
func TestPackRegions(t *testing.T) {
	for _, c := range []struct {
		weights []int64
		n       int
		enough  int64
		want    string
	}{
		{[]int64{1, 1, 1, 1}, 2, 0, "[{0 2} {2 4}]"},
		{[]int64{1, 1, 1}, 5, 0, "[{0 1} {1 2} {2 3}]"},
		{[]int64{1, 1, 1, 1, 1}, 1, 0, "[{0 5}]"},
		{[]int64{1, 1, 1, 20, 1, 1}, 3, 0, "[{0 3} {3 4} {4 6}]"},
		{[]int64{1, 1, 1, 20, 1, 1}, 6, 3, "[{0 3} {3 4} {4 6}]"},
		{[]int64{9, 0, 0, 0, 9}, 3, 0, "[{0 4} {4 5}]"},
	} {
		got := packRegions(c.weights, c.n, c.enough)
		if c.weights[0] == 9 {
			got = got[len(got)-1:] // if nothing has a weight, cuts are arbitrary
			c.want = "[{4 5}]"
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v for %d: %v, not %s", c.weights, c.n, got, c.want)
		}
	}
}

// heaviest tries all ways to cut weights into at most n ranges.
func heaviest(weights []int64, n int) int64 {
	sum := int64(0)
	for _, w := range weights {
		sum += w
	}
	if n == 1 {
		return sum
	}
	best, first := sum, int64(0)
	for i, w := range weights[:max(len(weights)-1, 0)] {
		first += w
		best = min(best, max(first, heaviest(weights[i+1:], n-1)))
	}
	return best
}

// TestPackRegionsIsBest compares packings with all possible ones.
func TestPackRegionsIsBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		weights := make([]int64, 1+rng.IntN(9))
		for i := range weights {
			weights[i] = int64(math.Exp(rng.Float64() * 8))
		}
		n := 1 + rng.IntN(5)
		got := packRegions(weights, n, 0)
		next, most := 0, int64(0)
		for _, r := range got {
			if r.From != next || r.To <= r.From {
				t.Fatalf("%v for %d: %v", weights, n, got)
			}
			next = r.To
			sum := int64(0)
			for _, w := range weights[r.From:r.To] {
				sum += w
			}
			most = max(most, sum)
		}
		if want := heaviest(weights, n); next != len(weights) || len(got) != min(n, len(weights)) || most != want {
			t.Fatalf("%v for %d: %v has a range of %d, the best way %d", weights, n, got, most, want)
		}
	}
}

// TestReduceRanges checks that by default a reduce gets 512 MiB, unless a single region has more, and that unknown weights count as the input.
func TestReduceRanges(t *testing.T) {
	const g = 1 << 30
	even := make([]int64, 100)
	skewed := make([]int64, 100)
	for i := range even {
		even[i], skewed[i] = g, g/1000
	}
	skewed[40] = 50 * g
	for _, c := range []struct {
		weights []int64
		regions int
		input   int64
		reduces int
		want    int
	}{
		{even, 100, 1, 0, 100},
		{even, 100, 1, 7, 7},
		{skewed, 100, 1, 0, 3},
		{skewed, 100, 1, 20, 20},
		{nil, 100, 10 * g, 0, 20},
		{make([]int64, 100), 100, 1, 0, 1},
		{even, 7, 2 * g, 0, 4},
	} {
		got := reduceRanges(c.weights, c.regions, c.input, c.reduces)
		if len(got) != c.want {
			t.Errorf("%d reduces for %d regions, not %d: %v", len(got), c.regions, c.want, got)
		}
		for _, r := range got {
			if c.regions == 100 && len(c.weights) > 0 && c.weights[40] > g && r.From <= 40 && r.To > 40 && r != (build.Regions{From: 40, To: 41}) {
				t.Errorf("the large region is with others: %v", r)
			}
		}
	}
}
