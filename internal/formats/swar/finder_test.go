package swar

import (
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// TestFinder compares masks of several blocks with a test of each byte.
func TestFinder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range race.Cases(t, 1_000_000) {
		var wanted [3]byte
		for i := range wanted {
			wanted[i] = byte(r.IntN(0x80))
		}
		blocks := r.IntN(4)
		text := make([]byte, blocks*Block)
		rare := r.IntN(3) == 0
		for i := range text {
			switch {
			case r.IntN(2) == 0:
				text[i] = wanted[r.IntN(3)] ^ [...]byte{0, 0, 1, 0x80}[r.IntN(4)] // neighbours are the hard cases
			default:
				text[i] = byte(r.Uint32())
			}
			if rare && text[i] == wanted[2] {
				text[i]++
			}
		}
		two, third := make([]uint64, blocks), make([]uint64, blocks)
		alone := true
		for i, c := range text {
			if c == wanted[0] || c == wanted[1] {
				two[i/Block] |= 1 << (i % Block)
			}
			if c == wanted[2] {
				third[i/Block] |= 1 << (i % Block)
				alone = false
			}
		}
		f := NewFinder(wanted[0], wanted[1], wanted[2])
		a, b, c, d := make([]uint64, blocks), make([]uint64, blocks), make([]uint64, blocks), make([]uint64, blocks)
		f.Two(a, text)
		if none := f.TwoAlone(b, text); none != alone {
			t.Fatalf("%x in %x: none is %t", wanted[2], text, none)
		}
		f.TwoAndThird(c, d, text)
		for i := range blocks {
			if a[i] != two[i] || b[i] != two[i] || c[i] != two[i] || d[i] != third[i] {
				t.Fatalf("block %d for %x: %x %x %x %x, want %x and %x", i, wanted, a[i], b[i], c[i], d[i], two[i], third[i])
			}
		}
	}
}
