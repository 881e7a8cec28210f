package extsort

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// TestLostRecords compares the set with a map, in memory and on disk.
func TestLostRecords(t *testing.T) {
	for _, most := range []int{1, 7, 1000, 1 << 20} {
		r := rand.New(rand.NewPCG(3, uint64(most)))
		dir, disk := t.TempDir(), &quota{}
		l := &lostRecords{dir: dir, most: most, disk: disk, compare: cmp.Compare[uint64]}
		if err := l.seal(); err != nil || isLost(l, 0) {
			t.Fatalf("an empty set: %v", err)
		}
		want := map[uint64]bool{}
		for range 5000 {
			seq := r.Uint64N(20_000) << (r.UintN(2) * 40)
			want[seq] = true
			if err := l.add(seq, seq); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.seal(); err != nil {
			t.Fatal(err)
		}
		for seq := range uint64(20_000) {
			for _, s := range []uint64{seq, seq << 40} {
				if isLost(l, s) != want[s] {
					t.Fatalf("%d of them in memory: %d is one: %v", most, s, isLost(l, s))
				}
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || (disk.bytes > 0) != (most < 10_000) {
			t.Errorf("%d of them in memory: %v in the directory, %d bytes counted, %v", most, left, disk.bytes, err)
		}
		if err := l.close(); err != nil || disk.bytes != 0 {
			t.Errorf("closed: %v, %d bytes counted", err, disk.bytes)
		}
	}
	l := &lostRecords{dir: t.TempDir(), most: 2, disk: &quota{limit: 20}, compare: cmp.Compare[uint64]}
	limit := &LimitError{}
	if err := errors.Join(l.add(1), l.add(2), l.add(3), l.add(4)); !errors.As(err, &limit) {
		t.Errorf("more than the disk may take: %v", err)
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
}

// TestFollowingRegions checks that records whose row a leading region leaves out have no row in a following region, for all
// policies, in memory and with runs. A plain pass over the rows computes the expected result.
func TestFollowingRegions(t *testing.T) {
	for _, memory := range []int64{2 << 20, 64 << 20} {
		for _, policies := range [][]Policy{{KeepFirst, KeepLast}, {KeepLast, KeepFirst}, {KeepLast, KeepAll}, {KeepFirst, KeepFirst}} {
			r := rand.New(rand.NewPCG(5, uint64(memory)))
			o := Options{Regions: 3, Memory: memory, Dir: t.TempDir(), Policies: []Policy{policies[0], policies[1], policies[1]}, Leading: 1, Follows: []bool{false, true, false}}
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			w, err := s.Writer()
			if err != nil {
				t.Fatal(err)
			}
			type row struct{ lead, follow string }
			var rows []row
			for seq := range 40_000 {
				x := row{fmt.Sprintf("k%05d", r.IntN(30_000)), fmt.Sprintf("v%05d", r.IntN(10_000))}
				rows = append(rows, x)
				for region, key := range []string{x.lead, x.follow, x.follow} {
					dst, err := w.Add(region, uint64(seq), []byte(key), 8)
					if err != nil {
						t.Fatal(err)
					}
					binary.LittleEndian.PutUint64(dst, uint64(seq))
				}
			}
			if err := s.Finish(); err != nil {
				t.Fatal(err)
			}
			kept := func(region int, policy Policy, of []int) (list []int) {
				at := map[string]int{}
				for _, seq := range of {
					key := []string{rows[seq].lead, rows[seq].follow, rows[seq].follow}[region]
					if policy == KeepAll {
						list = append(list, seq)
					} else if _, had := at[key]; !had || policy == KeepLast {
						at[key] = seq
					}
				}
				for _, seq := range at {
					list = append(list, seq)
				}
				slices.Sort(list)
				return list
			}
			all := make([]int, len(rows))
			for i := range all {
				all[i] = i
			}
			lead := kept(0, policies[0], all)
			want := [][]int{lead, kept(1, policies[1], lead), kept(2, policies[1], all)}
			if policies[1] == KeepAll {
				want[1] = all // without a decision, all rows are returned
			}
			for region := range 3 {
				m, err := s.Region(region)
				if err != nil {
					t.Fatal(err)
				}
				var got []int
				before := ""
				for m.Next() {
					seq := int(m.Seq())
					key := string(m.Key())
					if key < before || key != []string{rows[seq].lead, rows[seq].follow, rows[seq].follow}[region] || binary.LittleEndian.Uint64(m.Payload()) != m.Seq() {
						t.Fatalf("region %d: row %q of record %d after %q", region, key, seq, before)
					}
					got, before = append(got, seq), key
				}
				slices.Sort(got)
				if m.Err() != nil || !slices.Equal(got, want[region]) || m.Duplicates() != int64(len(rows)-len(got)) {
					t.Fatalf("memory %d, %v, region %d: %d rows, want %d, %d left out, %v", memory, policies, region, len(got), len(want[region]), m.Duplicates(), m.Err())
				}
				m.Close()
				if region == 0 {
					if err := s.SealLost(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if spilled := s.Stats().Runs > 0; spilled != (memory == 2<<20) {
				t.Errorf("%d runs in %d bytes", s.Stats().Runs, memory)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
