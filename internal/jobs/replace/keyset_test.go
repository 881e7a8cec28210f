package replace

import (
	"fmt"
	"math"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
)

// TestKeySet compares a set with all hashes whose lowest bits are 0, for any number of these bits.
func TestKeySet(t *testing.T) {
	r := testcheck.Rand(t)
	for range 50 {
		s := newKeySet(int64(1+r.IntN(40)) * keyBytes)
		added, other := make([]uint64, r.IntN(2000)), make([]uint64, 200)
		for _, hashes := range [][]uint64{added, other} {
			for i := range hashes {
				hashes[i] = r.Uint64() << r.IntN(8)
			}
		}
		for _, h := range added {
			s.add([]uint64{h, h})
		}
		kept := map[uint64]bool{}
		for _, h := range added {
			if h%uint64(s.of()) == 0 {
				kept[h] = true
			}
		}
		if len(s.keys) != len(kept) || len(kept) > s.most {
			t.Fatalf("%d of %d hashes are kept, one of %d; want %d", len(s.keys), len(added), s.of(), len(kept))
		}
		for _, h := range append(added, other...) {
			if sampled := h%uint64(s.of()) == 0; s.sampled(h) != sampled || sampled && s.has(h) != kept[h] {
				t.Fatalf("hash %x, one of %d: sampled %t, in the set %t", h, s.of(), s.sampled(h), s.has(h))
			}
		}
	}
}

// TestPredictedDeletes compares predictions with the rows that are in one list and not in the other, with memory for all keys and for few.
func TestPredictedDeletes(t *testing.T) {
	const rows = 4000
	l := newLab(t, 1, "f", "g")
	key := func(i int) []byte { return fmt.Appendf(nil, "%c%06d", 'a'+i%5, i) }
	var cells []hfile.Cell
	for i := range rows {
		for _, family := range []string{"f", "g"}[:1+i%2] {
			cells = append(cells, hfile.Cell{Row: key(i), Family: []byte(family), Qualifier: []byte("q"), Timestamp: 100, Type: hfile.Put, Value: []byte("v")})
		}
	}
	l.Load(1, cells...)
	snap := l.open()
	export := func(most int64) *keySet {
		s := newKeySet(most * keyBytes)
		var hashes []uint64
		for i := range rows + 500 {
			if i%20 != 3 {
				hashes = append(hashes, hashOf(key(i)))
			}
		}
		s.add(hashes[:1000])
		s.add(hashes) // some keys occur again
		return s
	}
	const gone = rows / 20
	p, err := export(rows+500).compare(t.Context(), snap)
	testcheck.Must(t, err)
	if p.Rows != rows || p.Deleted != gone || p.Seen != gone || p.OneOf != 1 {
		t.Errorf("with room for all: %+v", p)
	}
	few := export(1000)
	if len(few.keys) > 1000 || few.of() < 4 {
		t.Errorf("%d keys are kept, one of %d", len(few.keys), few.of())
	}
	p, err = few.compare(t.Context(), snap)
	testcheck.Must(t, err)
	if p.Rows != rows || p.OneOf != few.of() || p.Deleted != p.Seen*p.OneOf || math.Abs(float64(p.Deleted-gone)) > 4*math.Sqrt(gone*float64(p.OneOf)) {
		t.Errorf("with room for few: %+v", p)
	}
}
