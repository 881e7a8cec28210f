package estimate

import (
	"math"
	"testing"
)

const (
	// sigmas is how many standard errors an estimate may be off. Inputs and
	// samples have fixed seeds, so what passes once passes always.
	sigmas = 3.5
	// groupEffect is by how much the rows of a query key, which lie together and
	// in one region, widen the variance of a region's share: the mean square of
	// the rows of a key by their mean, for 1 to 30 rows as package data has them.
	groupEffect = (2*30 + 1) / 3.0
	// lengthSpread is the standard deviation of a generated record's length in
	// means: 0.21 and 0.22 of the two tables. That of its cells is less.
	lengthSpread = 0.22
	// runSpread is by how much runs of a sample pack better or worse than longer ones.
	runSpread = 0.01
	// oneReader reads a sample: its runs then hold the same rows each time. Of
	// several, the one that gets more of a busy processor has longer runs, which
	// pack by 2 % better.
	oneReader = 1
)

// unread returns the variance of a mean of so many rows in variances of one row, with
// the correction for a sample that is not small compared with all rows.
func unread(sampled, all int64) float64 {
	return max(0, 1-float64(sampled)/float64(all)) / float64(max(sampled, 1))
}

// shareBound returns how far the share of a region may be off when so many rows of
// all were counted.
func shareBound(share float64, counted, all int64) float64 {
	return sigmas * math.Sqrt(groupEffect*share*(1-share)*unread(counted, all))
}

// totalBound returns how far a total over all rows may be off, as a part of it, when
// it is scaled from so many rows.
func totalBound(sampled, all int64) float64 {
	return sigmas * lengthSpread * math.Sqrt(unread(sampled, all))
}

// near holds an estimate to what was measured; most is a part of it.
func near(t *testing.T, what string, got, want int64, most float64) {
	t.Helper()
	if off := math.Abs(float64(got - want)); off > most*float64(want)+0.5 {
		t.Errorf("%s: estimated %d, it is %d: %.2f %% off, at most %.2f %%", what, got, want, 100*off/float64(want), 100*most)
	}
}
