package bench

import (
	"math"
	"slices"
)

// Summary describes the distribution of a few measurements. It is zero if there are none.
type Summary struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"` // for an even number the mean of the two middle ones
	Max    float64 `json:"max"`
}

// summarize does not keep or change values.
func summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Summary{Min: sorted[0], Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Max: sorted[n-1]}
}

// ratioOf compares two tools. Median is the ratio of their medians. Min and Max are the extreme ratios within a round, which
// a disturbance of a whole round does not affect. Rounds that only one tool has do not count. The result is zero without a
// common round, or if values[i]/base[i] is not a number.
func ratioOf(values, base []float64) Summary {
	n := min(len(values), len(base))
	if n == 0 {
		return Summary{}
	}
	rounds := make([]float64, n)
	for i := range rounds {
		rounds[i] = values[i] / base[i]
	}
	s := summarize(rounds)
	s.Median = summarize(values).Median / summarize(base).Median
	for _, v := range []float64{s.Min, s.Median, s.Max} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Summary{} // JSON cannot represent them
		}
	}
	return s
}
