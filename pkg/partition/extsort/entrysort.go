package extsort

import (
	"cmp"
	"math/bits"
	"slices"
)

// fewEntries is the maximum number of entries that are sorted by insertion.
const fewEntries = 20

// sortEntries sorts entries by sort value, then by position; no two entries are equal in both. It is a quicksort whose
// partitions have no branch that depends on the entries: half of such branches of pdqsort are mispredicted.
func sortEntries(e []entry) {
	if !slices.IsSortedFunc(e, entry.compare) {
		quickSort(e, 2*bits.Len(uint(len(e))))
	}
}

func (x entry) compare(y entry) int {
	return cmp.Or(cmp.Compare(x.sort, y.sort), cmp.Compare(x.place, y.place))
}

// before returns 1 if x sorts before y, otherwise 0.
func (x entry) before(y entry) int {
	_, borrow := bits.Sub64(x.place, y.place, 0)
	_, borrow = bits.Sub64(x.sort, y.sort, borrow)
	return int(borrow)
}

// quickSort partitions while the partitions are balanced. At depth 0 it falls back to pdqsort.
func quickSort(e []entry, depth int) {
	for len(e) > fewEntries {
		if depth == 0 {
			slices.SortFunc(e, entry.compare)
			return
		}
		depth--
		n := partition(e)
		if n < len(e)/2 {
			quickSort(e[:n], depth)
			e = e[n+1:]
		} else {
			quickSort(e[n+1:], depth)
			e = e[:n]
		}
	}
	for i := 1; i < len(e); i++ {
		x := e[i]
		j := i
		for ; j > 0 && x.before(e[j-1]) == 1; j-- {
			e[j] = e[j-1]
		}
		e[j] = x
	}
}

// partition moves the entries that sort before a pivot in front of it, and returns the pivot's index.
func partition(e []entry) int {
	last := len(e) - 1
	p := pivot(e)
	e[p], e[last] = e[last], e[p]
	x := e[last]
	n := 0
	for i := range e[:last] {
		y := e[i]
		e[i] = e[n]
		e[n] = y
		n += y.before(x)
	}
	e[n], e[last] = e[last], e[n]
	return n
}

// pivot returns the index of a median of three, or of a median of three such medians.
func pivot(e []entry) int {
	n := len(e)
	a, b, c := n/4, n/2, n/4*3
	if n > 1000 {
		s := n / 8
		a, b, c = median(e, a-s/2, a, a+s/2), median(e, b-s/2, b, b+s/2), median(e, c-s/2, c, c+s/2)
	}
	return median(e, a, b, c)
}

func median(e []entry, a, b, c int) int {
	if e[b].before(e[a]) == 1 {
		a, b = b, a
	}
	if e[c].before(e[b]) == 1 {
		b = c
		if e[b].before(e[a]) == 1 {
			b = a
		}
	}
	return b
}
