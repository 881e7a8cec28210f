package extsort

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// TestWords compares the functions that read eight bytes of a key at a time with bytes.Compare and with loops over single bytes: keys of 0
// to 16 bytes, at all places of a word, equal up to a bit, with zeros at their ends.
func TestWords(t *testing.T) {
	const seed = 61
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var x, y [40]byte
	sortings := []sorting{newSorting(1, nil), newSorting(2, nil), newSorting(5, nil), newSorting(1000, nil), newSorting(1<<16, nil), newSorting(3, []int{0, 2, 30})}
	for n := range race.Cases(t, 1_000_000) {
		from, to := n%8, r.IntN(8)
		a, b := x[from:from+n/8%17], y[to:to+r.IntN(17)]
		for i := range x {
			x[i] = byte(r.Uint32()) & -byte(r.IntN(2))
		}
		copy(b, a)
		if len(b) > 0 && n%3 > 0 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		shared := 0
		for shared < len(a) && shared < len(b) && a[shared] == b[shared] {
			shared++
		}
		if commonPrefix(a, b) != shared || commonPrefix(b, a) != shared {
			t.Fatalf("%x and %x: %d", a, b, commonPrefix(a, b))
		}
		word := uint64(0)
		for i := range 8 {
			word *= 256
			if i < len(a) {
				word += uint64(a[i])
			}
		}
		if load(a) != word {
			t.Fatalf("%x: %x", a, load(a))
		}
		// Within a region a lesser sort value means a lesser key; a lesser region has lesser values for all keys.
		s := &sortings[n%len(sortings)]
		region := r.IntN(s.regions)
		k, l := a, b
		if s.shared != nil {
			shared := []byte("same text in all keys of the region")[:s.shared[region]]
			k, l = append(bytes.Clone(shared), a...), append(bytes.Clone(shared), b...)
		}
		v, w := s.value(region, k), s.value(region, l)
		if v < w && bytes.Compare(k, l) >= 0 || v > w && bytes.Compare(k, l) <= 0 {
			t.Fatalf("%x and %x have %x and %x", k, l, v, w)
		}
		if v < s.first(region) || region+1 < s.regions && v >= s.first(region+1) {
			t.Fatalf("%x of region %d of %d: %x", k, region, s.regions, v)
		}
	}
}

// TestBefore compares the branchless order of entries with compare.
func TestBefore(t *testing.T) {
	const seed = 62
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	edges := []uint64{0, 1, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1 << 32, 1<<32 - 1}
	number := func() uint64 {
		if r.IntN(2) == 0 {
			return edges[r.IntN(len(edges))]
		}
		return r.Uint64() >> r.IntN(64)
	}
	for range race.Cases(t, 1_000_000) {
		x, y := entry{number(), number()}, entry{number(), number()}
		if r.IntN(3) == 0 {
			y.sort = x.sort
		}
		want := 0
		if x.sort < y.sort || x.sort == y.sort && x.place < y.place {
			want = 1
		}
		if x.before(y) != want || (x.compare(y) < 0) != (want == 1) {
			t.Fatalf("%x before %x: %d", x, y, x.before(y))
		}
	}
}

// TestPayloads checks payloads of values of all lengths up to 40, and of lengths around those that need another byte.
func TestPayloads(t *testing.T) {
	const seed = 63
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, 3<<20)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	edges := []int{0x7e, 0x7f, 0x80, 0x3ffe, 0x3fff, 0x4000, 0x1ffffe, 0x1fffff}
	for n := range race.Cases(t, 1_000_000) {
		lengths, offsets := make([]int, n%8), make([]uint32, n%8)
		var heads, want []byte
		for i := range lengths {
			lengths[i] = r.IntN(42) - 1
			if n%500 == 0 {
				lengths[i] = edges[r.IntN(len(edges)-2*(n%1000/500))]
			}
			offsets[i] = uint32(r.IntN(len(data) - max(0, lengths[i]) + 1))
			heads = binary.AppendUvarint(heads, uint64(lengths[i]+1))
			if lengths[i] > 0 {
				want = append(want, data[offsets[i]:][:lengths[i]]...)
			}
		}
		want = append(heads, want...)
		if PayloadSize(lengths) != len(want) {
			t.Fatalf("%v: %d bytes, want %d", lengths, PayloadSize(lengths), len(want))
		}
		room := make([]byte, len(want)+r.IntN(20))
		got := room[:len(want)]
		if Fill(got, lengths, data, offsets); !bytes.Equal(got, want) {
			t.Fatalf("%v: another payload", lengths)
		}
	}
}
