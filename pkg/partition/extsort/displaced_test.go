package extsort

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestDisplaced compares the lists of rows left out with a map of the keys, in memory and with runs, merged as a whole, by ranges, and
// twice.
func TestDisplaced(t *testing.T) {
	r := testcheck.Rand(t)
	for _, memory := range []int64{2 << 20, 64 << 20} {
		for _, keys := range []int{1, 30, 20_000} {
			for _, policies := range [][]Policy{{KeepFirst, KeepLast, KeepLast}, {KeepLast, KeepFirst, KeepLast}} {
				dir := t.TempDir()
				s, err := New(Options{Regions: 3, Memory: memory, Dir: dir, Policies: policies, Displaced: []int{0, 1, 1}})
				testcheck.Must(t, err)
				w, err := s.Writer()
				testcheck.Must(t, err)
				seqs := make([]map[string][]uint64, 3) // by key
				for region := range seqs {
					seqs[region] = map[string][]uint64{}
				}
				seq := uint64(0)
				for range 20_000 {
					seq += 1 + r.Uint64N(3)<<(40*r.UintN(2))
					for _, region := range []int{0, 1 + r.IntN(2)} {
						key := fmt.Sprintf("k%05d", r.IntN(keys))
						seqs[region][key] = append(seqs[region][key], seq)
						_, err := w.Add(region, seq, []byte(key), 60)
						testcheck.Must(t, err)
					}
				}
				testcheck.Must(t, s.Finish())
				if spilled := s.Stats().Runs > 0; spilled != (memory == 2<<20) {
					t.Errorf("%d runs in %d bytes", s.Stats().Runs, memory)
				}
				want := make([][]Displaced, 2)
				for region, policy := range policies {
					for _, of := range seqs[region] {
						kept := of[0]
						if policy == KeepLast {
							kept = of[len(of)-1]
						}
						for _, seq := range of {
							if seq != kept {
								want[min(region, 1)] = append(want[min(region, 1)], Displaced{seq, kept})
							}
						}
					}
				}
				for region := range policies {
					mergeAll(t, s, region)
					mergeAll(t, s, region) // as for a region whose file is rewritten
				}
				for list := range want {
					slices.SortFunc(want[list], Displaced.compare)
					got, err := s.Displaced(list)
					if err != nil || !slices.Equal(got, want[list]) {
						t.Errorf("%d bytes, %d keys, %v: list %d has %d, want %d, %v", memory, keys, policies, list, len(got), len(want[list]), err)
					}
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%v in the directory, %v", left, err)
				}
				testcheck.Must(t, s.Close())
			}
		}
	}
}

// mergeAll merges a region to its end, by ranges if possible.
func mergeAll(t *testing.T, s *Sorter, region int) {
	t.Helper()
	var merges []*Merge
	for _, r := range s.Ranges(region, 700) {
		m, err := s.MergeRange(region, r)
		testcheck.Must(t, err)
		merges = append(merges, m)
	}
	if merges == nil {
		m, err := s.Region(region)
		testcheck.Must(t, err)
		merges = append(merges, m)
	}
	for _, m := range merges {
		for m.Next() {
		}
		testcheck.Must(t, m.Err())
		m.Close()
	}
}
