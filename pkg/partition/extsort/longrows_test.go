package extsort

import (
	"errors"
	"fmt"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestDuplicatesOverManyBlocks checks duplicates of a key that span many blocks of a run, so that the kept row's block is overwritten
// before the merge continues.
func TestDuplicatesOverManyBlocks(t *testing.T) {
	r := testcheck.Rand(t)
	var rows []testRow
	for seq := range uint64(200) {
		payload := make([]byte, 20_000+r.IntN(20_000))
		for i := range payload {
			payload[i] = byte(r.IntN(8))
		}
		rows = append(rows, testRow{0, seq, fmt.Appendf(nil, "key %d", r.IntN(3)), payload})
	}
	for _, policy := range []Policy{KeepFirst, KeepLast, KeepAll} {
		s, err := New(Options{Regions: 1, Memory: 2 * MinMemory, Dir: t.TempDir(), Duplicates: policy})
		testcheck.Must(t, err)
		fill(t, s, 1, 1, rows)
		if s.Stats().Runs == 0 {
			t.Fatal("nothing was spilled")
		}
		got, dups := drain(t, s, 1)
		want, wantDups := plain(rows, policy)
		if err := equalRows(got, want); err != nil || dups != wantDups {
			t.Errorf("policy %d: %v, %d duplicates, not %d", policy, err, dups, wantDups)
		}
		testcheck.Must(t, s.Close())
	}
}

// TestRunHasTheRowsThatItSays checks that a run's region with fewer or more rows than its index states is reported as damaged.
func TestRunHasTheRowsThatItSays(t *testing.T) {
	for _, more := range []int64{-1, 0, 1} {
		s, err := New(Options{Regions: 2, Memory: MinMemory, Dir: t.TempDir(), Duplicates: KeepFirst})
		testcheck.Must(t, err)
		fill(t, s, 1, 1, manyRows(8000, 2, 0))
		if len(s.runs) == 0 {
			t.Fatal("nothing was spilled")
		}
		list := s.runs[0].sections.all(t, s.runs[0])
		list[1].rows += more
		s.runs[0].sections.set(list)
		m, err := s.Region(1)
		testcheck.Must(t, err)
		for m.Next() {
		}
		if err := m.Err(); errors.Is(err, ErrCorrupt) != (more != 0) {
			t.Errorf("a run that says %+d rows: %v", more, err)
		}
		m.Close()
		testcheck.Must(t, s.Close())
	}
}
