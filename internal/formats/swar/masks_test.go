package swar

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// TestMasks compares every mask with a test of each byte.
func TestMasks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range race.Cases(t, 1_000_000) {
		var p [Block]byte
		want := [4]byte{byte(r.Uint32()), byte(r.Uint32()), '"', '\n'}
		for i := range p {
			if p[i] = byte(r.Uint32()); r.IntN(2) == 0 {
				p[i] = want[r.IntN(4)] ^ byte(r.IntN(2)) // neighbours are the hard cases
			}
		}
		if r.IntN(4) == 0 {
			for i := range p {
				p[i] &= 0x7f
			}
		}
		var two, three, four, quotes, ends uint64
		ascii := true
		for i, c := range p {
			bit := uint64(1) << i
			if c == want[0] || c == want[1] {
				two |= bit
			}
			if c == want[0] || c == want[1] || c == want[2] {
				three |= bit
			}
			if c == want[0] || c == want[1] || c == want[2] || c == want[3] {
				four |= bit
			}
			if c == '"' {
				quotes |= bit
			}
			if c == want[0] || c == '\n' {
				ends |= bit
			}
			ascii = ascii && c < 0x80
		}
		if got := Two(&p, Spread(want[0]), Spread(want[1])); got != two {
			t.Fatalf("two: %x, want %x", got, two)
		}
		if got := Three(&p, Spread(want[0]), Spread(want[1]), Spread(want[2])); got != three {
			t.Fatalf("three: %x, want %x", got, three)
		}
		if got := Four(&p, Spread(want[0]), Spread(want[1]), Spread(want[2]), Spread(want[3])); got != four {
			t.Fatalf("four: %x, want %x", got, four)
		}
		if q, e := QuotesAndEnds(&p, Spread(want[0])); q != quotes || e != ends {
			t.Fatalf("quotes and ends: %x %x, want %x %x", q, e, quotes, ends)
		}
		if ASCII(&p) != ascii {
			t.Fatalf("ASCII: %t", !ascii)
		}
		x := r.Uint64()
		in := PrefixXor(x)
		for i := range Block {
			if (in>>i)&1 != uint64(bits.OnesCount64(x<<(63-i)))&1 {
				t.Fatalf("bit %d of %x for %x", i, in, x)
			}
		}
		if n := r.IntN(70); Tail(x, n) != x&^(^uint64(0)<<min(n, 64)) && n < 64 || n >= 64 && Tail(x, n) != x {
			t.Fatalf("tail %d of %x", n, x)
		}
	}
}
