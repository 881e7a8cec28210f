package extsort

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestSortEntries compares the sort of entries with the library's, for input orders that are hard for a
// quicksort.
func TestSortEntries(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(t, "entries")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		distinct := rapid.SampledFrom([]uint64{1, 2, 16, 1000, 1 << 63}).Draw(t, "sort values")
		e := make([]entry, n)
		for i := range e {
			e[i] = newEntry(r.Uint64N(distinct), uint32(i), r.Uint32N(3))
		}
		switch rapid.SampledFrom([]string{"random", "rising", "falling", "saw", "pipe"}).Draw(t, "order") {
		case "random":
			r.Shuffle(n, func(i, j int) { e[i], e[j] = e[j], e[i] })
		case "rising":
			slices.SortFunc(e, entry.compare)
		case "falling":
			slices.SortFunc(e, func(x, y entry) int { return y.compare(x) })
		case "saw":
			for i := range e {
				e[i].sort = uint64(i % 7)
			}
		case "pipe":
			for i := range e {
				e[i].sort = uint64(min(i, n-i))
			}
		}
		want := slices.Clone(e)
		slices.SortFunc(want, entry.compare)
		sortEntries(e)
		if !slices.Equal(e, want) {
			t.Fatalf("%d entries of %d sort values are not in order", n, distinct)
		}
	})
}

// TestQuickSortGivesUp checks that unbalanced partitions end in the library's sort.
func TestQuickSortGivesUp(t *testing.T) {
	e := make([]entry, 1000)
	for i := range e {
		e[i] = newEntry(uint64(i*7919%1000), uint32(i), 0)
	}
	quickSort(e, 1)
	if !slices.IsSortedFunc(e, entry.compare) {
		t.Error("entries are not in order")
	}
}

func BenchmarkSortEntries(b *testing.B) {
	for _, n := range []int{1 << 10, 1 << 16, 1 << 19} {
		r := rand.New(rand.NewPCG(1, 2))
		in := make([]entry, n)
		for i := range in {
			in[i] = newEntry(r.Uint64(), uint32(i), 0)
		}
		e := make([]entry, n)
		for _, by := range []struct {
			name string
			sort func([]entry)
		}{{"quick", sortEntries}, {"library", func(e []entry) { slices.SortFunc(e, entry.compare) }}} {
			b.Run(fmt.Sprintf("%d/%s", n, by.name), func(b *testing.B) {
				for b.Loop() {
					copy(e, in)
					by.sort(e)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
			})
		}
	}
}
