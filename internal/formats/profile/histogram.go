package profile

import "math"

const (
	maxBins = 64
	// minExponent is the least exponent of a bin's width. 2^-minExponent is finite.
	minExponent = -1000
)

// A histogram counts numbers in bins that are 2^exponent wide and begin at a multiple of their width. The bins are the narrowest for
// which there are at most [maxBins]. So they depend only on the least and the greatest number, and not on the order of the numbers.
type histogram struct {
	count     int64
	low, high float64 // the least and the greatest number; there are no bins while they are equal
	exponent  int
	first     int64 // number of the first bin
	bins      [maxBins]int64
}

func (h *histogram) add(x float64, n int64) {
	switch {
	case n == 0:
		return
	case h.count == 0:
		h.low, h.high = x, x
	case x < h.low || x > h.high:
		h.widen(min(x, h.low), max(x, h.high))
	}
	if h.count += n; h.low < h.high {
		h.bins[binOf(x, h.exponent)-h.first] += n
	}
}

// widen changes the bins to those for numbers from low to high.
func (h *histogram) widen(low, high float64) {
	old := *h
	h.low, h.high, h.exponent = low, high, exponentOf(low, high)
	h.first, h.bins = binOf(low, h.exponent), [maxBins]int64{}
	if old.low == old.high {
		h.bins[binOf(old.low, h.exponent)-h.first] = old.count
		return
	}
	h.take(&old)
}

// take adds the bins of another histogram. They must not be wider than those of h.
func (h *histogram) take(o *histogram) {
	for i, n := range o.bins {
		if n > 0 {
			h.bins[(o.first+int64(i))>>(h.exponent-o.exponent)-h.first] += n
		}
	}
}

func (h *histogram) merge(o *histogram) {
	switch {
	case o.count == 0:
	case o.low == o.high:
		h.add(o.low, o.count)
	case h.count == 0:
		*h = *o
	default:
		if low, high := min(h.low, o.low), max(h.high, o.high); low < h.low || high > h.high {
			h.widen(low, high)
		}
		h.count += o.count
		h.take(o)
	}
}

// coarsen makes bins at least 1 wide.
func (h *histogram) coarsen() {
	if h.low == h.high || h.exponent >= 0 {
		return
	}
	old := *h
	h.exponent = 0
	h.first, h.bins = binOf(h.low, 0), [maxBins]int64{}
	h.take(&old)
}

// bars returns the bins from the first to the last that has numbers.
func (h *histogram) bars() []Bar {
	if h.count == 0 {
		return nil
	}
	if h.low == h.high {
		return []Bar{{h.low, h.low, h.count}}
	}
	var bars []Bar
	for i := range binOf(h.high, h.exponent) - h.first + 1 {
		from, to := math.Ldexp(float64(h.first+i), h.exponent), math.Ldexp(float64(h.first+i+1), h.exponent)
		bars = append(bars, Bar{max(from, -math.MaxFloat64), min(to, math.MaxFloat64), h.bins[i]})
	}
	return bars
}

// exponentOf returns the least exponent for which numbers from low to high need at most [maxBins] bins. It does not decrease when the range of
// the numbers grows.
func exponentOf(low, high float64) int {
	e := max(minExponent, math.Ilogb(high/2-low/2)-4)
	for binOf(high, e)-binOf(low, e) >= maxBins {
		e++
	}
	return e
}

// binOf returns the number of the bin of x.
func binOf(x float64, exponent int) int64 {
	scaled := math.Ldexp(x, -exponent)
	if scaled == 0 && x < 0 {
		return -1 // the quotient is too small for a float
	}
	return int64(math.Floor(scaled))
}
