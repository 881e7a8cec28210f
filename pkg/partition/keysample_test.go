package partition

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestQuantileSplits checks that split points rise and cut the bytes evenly.
func TestQuantileSplits(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		n := rapid.IntRange(2, 60).Draw(t, "regions")
		rows := rapid.IntRange(1, 20_000).Draw(t, "rows")
		digits := rapid.IntRange(1, 12).Draw(t, "digits")
		large := rapid.IntRange(1, 2000).Draw(t, "largest row")
		s := NewKeySample(1, 3)
		total := 0.0
		sizes := map[string]float64{}
		for range rows {
			key := fmt.Sprintf("%0*d", digits, rng.Int64N(int64(math.Pow10(digits))))
			size := 1 + rng.Int64N(int64(large))
			s.Add([]byte(key), size)
			sizes[key] += float64(size)
			total += float64(size)
		}
		heaviest := 0.0 // a key cannot be cut
		for _, n := range sizes {
			heaviest = max(heaviest, n)
		}
		splits := s.Splits(n, 0)
		ranges, err := New(splits)
		if err != nil {
			t.Fatalf("%d regions of %d rows: %v", n, rows, err)
		}
		if len(sizes) == rows && rows >= 50*n && len(splits) != n-1 || len(splits) >= n {
			t.Fatalf("%d regions of %d rows: %d split points", n, rows, len(splits))
		}
		got := make([]float64, ranges.Len())
		for key, size := range sizes {
			got[ranges.Find([]byte(key))] += size
		}
		for i, bytes := range got {
			if most := (1+2*splitSlack)*total/float64(n) + 2*heaviest; bytes > most {
				t.Fatalf("region %d of %d has %.0f of %.0f bytes, more than %.0f", i, n, bytes, total, most)
			}
		}
	})
}

// TestQuantilesOfSalts checks that keys with salts are split at the salts.
func TestQuantilesOfSalts(t *testing.T) {
	for _, n := range []int{2, 10, 50, 100} {
		s := NewKeySample(1, 1)
		for i := range 1000 * n {
			s.Add(fmt.Appendf(nil, "%0*d%08x", len(strconv.Itoa(n-1)), i%n, i*7919), 100)
		}
		if got, want := s.Splits(n, len(strconv.Itoa(n-1))), SaltSplits(n); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d salts: %q", n, got)
		}
	}
}

func TestQuantilesOfFewKeys(t *testing.T) {
	s := NewKeySample(1, 1)
	if got := s.Splits(5, 0); got != nil {
		t.Errorf("no keys: %q", got)
	}
	for range 100 {
		s.Add([]byte("same"), 10)
	}
	if got := s.Splits(5, 0); got != nil {
		t.Errorf("one key: %q", got)
	}
	s.Add([]byte("some"), 10)
	if got := s.Splits(5, 0); len(got) != 1 || string(got[0]) != "so" {
		t.Errorf("two keys: %q", got)
	}
}

func TestSeparator(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', 0xff}), 1, 6)
		a, b := key.Draw(t, "a"), key.Draw(t, "b")
		if bytes.Compare(a, b) > 0 {
			a, b = b, a
		}
		least := rapid.IntRange(0, 3).Draw(t, "least")
		got := separator(a, b, least)
		if bytes.Equal(a, b) {
			if got != nil {
				t.Fatalf("%q parts a key from itself", got)
			}
			return
		}
		if bytes.Compare(a, got) >= 0 || bytes.Compare(got, b) > 0 || len(got) > least && bytes.Compare(a, got[:len(got)-1]) < 0 {
			t.Fatalf("%q between %q and %q", got, a, b)
		}
	})
}

// TestKeySample checks the size of a sample, and that its weights add up to all rows.
func TestKeySample(t *testing.T) {
	for _, step := range []int64{1, 3, 40} {
		const rows = 2_000_000
		s := NewKeySample(step, 9)
		for i := range rows {
			s.Add(strconv.AppendInt(nil, int64(i), 10), 7)
		}
		all := NewKeySample(1, 0)
		all.Merge(s, 2)
		for _, s := range []*KeySample{s, all} {
			weight := 0.0
			for _, it := range s.items {
				weight += it.weight
			}
			if s == all {
				weight /= 2
			}
			// Distances between keys are uniform from 1 to about twice the step: their
			// standard deviation is their mean divided by the square root of 3.
			most := 3.5 / math.Sqrt(3*float64(len(s.items)))
			if len(s.items) >= 2*SampleKeys || len(s.items) < int(min(SampleKeys, rows/(2*step))) || math.Abs(weight/(7*rows)-1) > most {
				t.Errorf("step %d: %d keys stand for %.0f of %d bytes", step, len(s.items), weight, 7*rows)
			}
		}
	}
}

// TestSampleSteps checks that a step of any size makes a sample.
func TestSampleSteps(t *testing.T) {
	for _, step := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		s := NewKeySample(step, 1)
		s.next = 0
		s.Add([]byte("k"), 1)
		s.Add([]byte("l"), 1)
		if got := len(s.Splits(-1, -1)); got != 0 {
			t.Errorf("step %d: %d splits", step, got)
		}
	}
}
