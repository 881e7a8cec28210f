package extsort

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestRangesAreTheRegion compares the consecutive merges of a region's ranges with a plain sort: no key is in two ranges, and the
// rows returned stay valid until the end.
func TestRangesAreTheRegion(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		regions := rapid.IntRange(1, 3).Draw(t, "regions")
		prefix := rapid.SampledFrom([]string{"", "aaaaaaaaaaaaaaaa", "aaaaaaaab"})
		tail := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', 0xff}), 0, 6)
		var rows []testRow
		for i := range rapid.IntRange(0, 400).Draw(t, "rows") {
			key := append([]byte(prefix.Draw(t, "prefix")), tail.Draw(t, "tail")...)
			rows = append(rows, testRow{len(key) % regions, uint64(i), key, fmt.Appendf(nil, "payload %d", i)})
		}
		policy := rapid.SampledFrom([]Policy{KeepFirst, KeepLast, KeepAll}).Draw(t, "policy")
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		s, err := New(Options{Regions: regions, Workers: workers, Memory: MinMemory * 3, Dir: os.TempDir(), Duplicates: policy})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		// Rows are added in stripes: one arena may have keys that no other has.
		fillRapid(t, s, workers, rapid.SampledFrom([]int{1, 50, 200}).Draw(t, "stripe"), rows)
		n := rapid.IntRange(1, 100).Draw(t, "rows of a range")
		var got []testRow
		dups := int64(0)
		for region := range regions {
			var last []byte
			ranges := s.Ranges(region, n)
			total := 0
			for i, r := range ranges {
				total += r.Rows()
				m, err := s.MergeRange(region, r)
				if err != nil {
					t.Fatal(err)
				}
				first := true
				for m.Next() {
					if first && i > 0 && bytes.Compare(last, m.Key()) >= 0 {
						t.Fatalf("range %d of region %d begins with %q, the one before ends with %q", i, region, m.Key(), last)
					}
					first, last = false, m.Key()
					got = append(got, testRow{region, m.Seq(), m.Key(), m.Payload()})
				}
				if first {
					t.Fatalf("range %d of region %d has no rows", i, region)
				}
				if m.Err() != nil {
					t.Fatal(m.Err())
				}
				dups += m.Duplicates()
				m.Close()
			}
			if size, _ := s.Size(region); int64(total) != size {
				t.Fatalf("ranges of region %d have %d rows, it has %d", region, total, size)
			}
		}
		want, wantDups := plain(rows, policy)
		if err := equalRows(got, want); err != nil || dups != wantDups {
			t.Fatalf("%d duplicates, want %d: %v", dups, wantDups, err)
		}
	})
}

func fillRapid(t *rapid.T, s *Sorter, writers, stripe int, rows []testRow) {
	ws := make([]*Writer, writers)
	for i := range ws {
		var err error
		if ws[i], err = s.Writer(); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rows {
		dst, err := ws[int(r.seq)/stripe%writers].Add(r.region, r.seq, r.key, len(r.payload))
		if err != nil {
			t.Fatal(err)
		}
		copy(dst, r.payload)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
}

// TestRangesAreEven checks that a range has about the requested number of rows, even if one arena has all keys of one end.
func TestRangesAreEven(t *testing.T) {
	s, err := New(Options{Regions: 1, Workers: 2, Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var rows []testRow
	for i := range 100_000 {
		rows = append(rows, testRow{0, uint64(i), fmt.Appendf(nil, "%08d", i), nil})
	}
	fill(t, s, 2, 50_000, rows)
	ranges := s.Ranges(0, 1000)
	for i, r := range ranges {
		if n := r.Rows(); n > 2000 || n < 500 && i < len(ranges)-1 {
			t.Errorf("range %d of %d has %d rows", i, len(ranges), n)
		}
	}
	if len(ranges) < 50 {
		t.Errorf("%d ranges", len(ranges))
	}
}

// TestRangesOnDisk checks that a sort with runs has no ranges.
func TestRangesOnDisk(t *testing.T) {
	s, err := New(Options{Regions: 1, Memory: MinMemory, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var rows []testRow
	for i := range 5000 {
		rows = append(rows, testRow{0, uint64(i), fmt.Appendf(nil, "%08d", i), make([]byte, 500)})
	}
	fill(t, s, 1, 1, rows)
	if s.Stats().Runs == 0 {
		t.Fatal("nothing was spilled")
	}
	if r := s.Ranges(0, 100); r != nil {
		t.Errorf("%d ranges", len(r))
	}
	if _, err := s.MergeRange(0, Range{}); err == nil {
		t.Error("a range of nothing is merged")
	}
}

// TestLengths compares the lengths of a payload with its values.
func TestLengths(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.SampledFrom([]int{-1, 0, 1, 20, 126, 127, 128, 300, 20000}), 0, 30).Draw(t, "lengths")
		data := bytes.Repeat([]byte("v"), 1<<20)
		payload := make([]byte, PayloadSize(want))
		Fill(payload, want, data, make([]uint32, len(want)))
		got := make([]int32, len(want))
		values, cells, err := Lengths(payload, got)
		if err != nil {
			t.Fatal(err)
		}
		total, some := 0, 0
		for i, l := range want {
			if int(got[i]) != l {
				t.Fatalf("length %d is %d, want %d", i, got[i], l)
			}
			total += max(l, 0)
			if l >= 0 {
				some++
			}
		}
		if len(values) != total || cells != some {
			t.Fatalf("%d bytes of %d values, want %d of %d", len(values), cells, total, some)
		}
		for n := 0; n < len(payload); n += max(1, len(payload)/50) {
			if _, _, err := Lengths(payload[:n], got); err == nil {
				t.Fatalf("a payload of %d bytes cut to %d has no error", len(payload), n)
			}
		}
	})
}
