package keygen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bulkload/pkg/keygen/rowkey"
)

// sharesOf returns the expected share of rows of each region between the split points, for keys whose leading bytes are hashes. It returns
// nil if the hashes alone do not determine the shares.
func sharesOf(s shape, splits [][]byte) []float64 {
	const enough = 0.005 // the share of rows that may be in doubt at a split point
	shares := make([]float64, len(splits)+1)
	last := 0.0
	for i, split := range splits {
		lo, hi := below(s.lead, s.whole, split)
		if hi-lo > enough {
			return nil
		}
		p := max(last, (lo+hi)/2)
		shares[i] = p - last
		last = p
	}
	shares[len(splits)] = 1 - last
	for i, p := range shares {
		shares[i] = math.Round(p*1e12) / 1e12 // sums of fractions have rounding errors
	}
	return shares
}

// below bounds the probability that a key is less than split. It assumes that symbols are independent.
func below(lead []symbol, whole bool, split []byte) (lo, hi float64) {
	if len(split) == 0 {
		return 0, 0 // the key begins with the split point
	}
	if len(lead) == 0 {
		if whole {
			return 1, 1 // the split point begins with the key
		}
		return 0, 1
	}
	s := lead[0]
	base := int64(len(s.symbols))
	unit := int64(1)
	for range s.width {
		unit *= base
	}
	less, prefix, times := int64(0), int64(0), 1.0
	for i := range s.width {
		if i == len(split) {
			return float64(less) / float64(s.n), float64(less) / float64(s.n)
		}
		unit /= base
		match, same := int64(-1), 0.0
		for d := range base {
			from := (prefix*base + d) * unit
			switch c := s.symbols[d]; {
			case c < split[i]:
				less += max(0, min(s.n, from+unit)-from)
			case c == split[i] && from < s.n:
				match = d
				same++ // a symbol may stand for several values
			}
		}
		if match < 0 {
			return float64(less) / float64(s.n), float64(less) / float64(s.n)
		}
		prefix, times = prefix*base+match, same
	}
	lo, hi = below(lead[1:], whole, split[s.width:])
	return (float64(less) + times*lo) / float64(s.n), (float64(less) + times*hi) / float64(s.n)
}

// uneven describes the distribution of rows over the regions if it is bad: some regions get no rows, or one gets more than 2.5 times as many
// as any other. The margin above 2 allows for one region of a salt that has been split again.
func uneven(s shape, splits [][]byte, shares []float64) string {
	sorted := slices.Sorted(slices.Values(shares))
	n := len(sorted)
	if n < 2 || sorted[0] > 0 && sorted[n-1] <= 2.5*sorted[n-2] {
		return ""
	}
	var firsts Alphabet
	for _, p := range splits {
		firsts.add(p[0])
	}
	return fmt.Sprintf("keys start with %s, the split points with %s: %s (shares of the rows)", s.first, firsts, namedShares(splits, shares))
}

// namedShares lists every region if there are few. Otherwise it lists the largest ones and counts the empty ones.
func namedShares(splits [][]byte, shares []float64) string {
	const few = 16
	order := make([]int, len(shares))
	for i := range order {
		order[i] = i
	}
	cut, empty := len(order), 0
	for _, p := range shares {
		if p == 0 {
			empty++
		}
	}
	if cut > few {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(shares[b], shares[a]) })
		cut = 3
	}
	var list []string
	for _, i := range order[:cut] {
		list = append(list, fmt.Sprintf("%s %s", regionName(splits, i), percent(shares[i])))
	}
	if cut < len(shares) {
		list = append(list, fmt.Sprintf("the %d others less, %d of them none", len(shares)-cut, empty))
	}
	return fmt.Sprintf("of %d regions %s", len(shares), strings.Join(list, ", "))
}

func regionName(splits [][]byte, i int) string {
	if i == 0 {
		return "the first"
	}
	return fmt.Sprintf("from %s", rowkey.String(splits[i-1]))
}

func percent(p float64) string {
	switch {
	case p == 0:
		return "0 %"
	case p < 0.0095:
		return "under 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}
