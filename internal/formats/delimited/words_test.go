package delimited

import (
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// TestASCII compares the test of whole words with one of each byte, for all lengths up to 24 and all places, between bytes that do not count.
func TestASCII(t *testing.T) {
	const seed = 31
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	p := make([]byte, 8+24+Slack)
	check := func(from, to int) {
		want := true
		for _, c := range p[from:to] {
			want = want && c < 0x80
		}
		if got := ascii(p, from, to); got != want {
			t.Fatalf("%x: %t", p[from:to], got)
		}
	}
	for from := range 8 {
		for n := range 25 {
			for _, around := range []byte{0, 0x7f, 0x80, 0xff} {
				for i := range p {
					p[i] = around
				}
				clear(p[from : from+n])
				check(from, from+n)
				for at := from; at < from+n; at++ {
					for c := range 256 {
						p[at] = byte(c)
						check(from, from+n)
					}
					p[at] = 0
				}
			}
		}
	}
	for range race.Cases(t, 1_000_000) {
		for i := range 4 {
			p[r.IntN(len(p))] = byte(r.Uint32()) >> (i % 2)
		}
		from := r.IntN(8)
		check(from, from+r.IntN(25))
	}
}

// TestWords checks loads of words, the function that returns 1 only for 0, and whether the number of escapes at the end of a text is odd.
func TestWords(t *testing.T) {
	const seed = 32
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	check := func(n uint64) {
		want := uint64(0)
		if n == 0 {
			want = 1
		}
		if got := zero(n); got != want {
			t.Fatalf("zero of %x is %d", n, got)
		}
	}
	for i := range 64 {
		for _, n := range []uint64{0, 1 << i, 1<<i - 1, ^uint64(1 << i), -(uint64(1) << i)} {
			check(n)
		}
	}
	for range race.Cases(t, 1_000_000) {
		check((r.Uint64() >> r.IntN(64)) << r.IntN(64))
	}
	p := make([]byte, 24)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	for at := range 17 {
		want := uint64(0)
		for i := 7; i >= 0; i-- {
			want = want*256 + uint64(p[at+i])
		}
		if got := load(p, at); got != want {
			t.Fatalf("at %d of %x: %x", at, p, got)
		}
	}
	// The number of escapes at the end of a text is odd or even.
	for n := range 70 {
		text := append([]byte("\\x"), make([]byte, n)...)
		for i := range n {
			text[2+i] = '\\'
		}
		if escaped(text, '\\') != (n%2 == 1) {
			t.Fatalf("%d escapes", n)
		}
	}
}
