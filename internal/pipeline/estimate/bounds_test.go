package estimate

import (
	"math"
	"testing"
)

const (
	// sigmas is the allowed error of an estimate in standard errors. Inputs and
	// samples have fixed seeds, so results are reproducible.
	sigmas = 3.5
	// groupEffect is the factor by which the rows of a query key, which are contiguous
	// and in one region, widen the variance of a region's share: the mean square of the
	// rows of a key divided by their mean, for 1 to 30 rows as package data has them.
	groupEffect = (2*30 + 1) / 3.0
	// lengthSpread is the standard deviation of a generated record's length, relative to
	// the mean: 0.21 and 0.22 for the two tables. The deviation for cells is smaller.
	lengthSpread = 0.22
	// runSpread is the relative difference in compression between the runs of a sample and longer ones.
	runSpread = 0.01
	// oneReader reads a sample with one reader, so that its runs have the same
	// rows each time. With several, the one that gets more of a busy processor has
	// longer runs, which compress 2 % better.
	oneReader = 1
)

// unread returns the variance of a mean of sampled rows, in variances of one row,
// with the correction for a sample that is not small compared with all rows.
func unread(sampled, all int64) float64 {
	return max(0, 1-float64(sampled)/float64(all)) / float64(max(sampled, 1))
}

// shareBound returns the allowed error of a region's share when counted of all
// rows were counted.
func shareBound(share float64, counted, all int64) float64 {
	return sigmas * math.Sqrt(groupEffect*share*(1-share)*unread(counted, all))
}

// totalBound returns the allowed relative error of a total over all rows that
// is scaled from sampled rows.
func totalBound(sampled, all int64) float64 {
	return sigmas * lengthSpread * math.Sqrt(unread(sampled, all))
}

// near compares an estimate with the measured value; most is the allowed relative error.
func near(t *testing.T, what string, got, want int64, most float64) {
	t.Helper()
	if off := math.Abs(float64(got - want)); off > most*float64(want)+0.5 {
		t.Errorf("%s: estimated %d, it is %d: %.2f %% off, at most %.2f %%", what, got, want, 100*off/float64(want), 100*most)
	}
}
