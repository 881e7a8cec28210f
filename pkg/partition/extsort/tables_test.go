package extsort

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestTablesInOneSort sorts records with a row in each of several tables, and compares each table with a plain sort of its
// rows alone, by its own policy.
func TestTablesInOneSort(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		policies := rapid.SliceOfN(rapid.SampledFrom([]Policy{KeepFirst, KeepLast, KeepAll}), 2, 4).Draw(rt, "policies")
		spill := rapid.Bool().Draw(rt, "spill")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		records, most := 300, 40
		if spill {
			most = 4000
		}
		s, err := New(Options{Regions: len(policies), Policies: policies, Workers: 1, Memory: MinMemory, Dir: t.TempDir()})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		var rows []testRow
		for seq := range records {
			for table := range policies {
				key := fmt.Appendf(nil, "%d", r.IntN(records/2))
				rows = append(rows, testRow{table, uint64(seq), key, make([]byte, r.IntN(most))})
			}
		}
		fill(t, s, 1, 1, rows)
		for table, policy := range policies {
			m, err := s.Region(table)
			if err != nil {
				rt.Fatal(err)
			}
			var got []testRow
			for m.Next() {
				got = append(got, testRow{table, m.Seq(), append([]byte{}, m.Key()...), append([]byte{}, m.Payload()...)})
			}
			if m.Err() != nil {
				rt.Fatal(m.Err())
			}
			var own []testRow
			for _, row := range rows {
				if row.region == table {
					own = append(own, row)
				}
			}
			want, dups := plain(own, policy)
			if err := equalRows(got, want); err != nil {
				rt.Fatalf("table %d of %d, policy %d: %v", table, len(policies), policy, err)
			}
			if m.Duplicates() != dups {
				rt.Fatalf("table %d: %d duplicates, want %d", table, m.Duplicates(), dups)
			}
			m.Close()
		}
	})
}

// TestSequenceNumbersRise checks that writers enforce the order of rows of one number.
func TestSequenceNumbersRise(t *testing.T) {
	s, err := New(Options{Regions: 3, Memory: MinMemory})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := s.Writer()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		region int
		seq    uint64
		ok     bool
	}{{1, 5, true}, {2, 5, true}, {2, 5, false}, {0, 5, false}, {0, 6, true}, {2, 5, false}} {
		if _, err := w.Add(c.region, c.seq, []byte("k"), 0); (err == nil) != c.ok {
			t.Errorf("region %d, number %d: %v", c.region, c.seq, err)
		}
	}
}
