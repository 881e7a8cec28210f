package charset

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf16"

	"bulkload/internal/test/race"
)

// TestMasks compares the masks of a block with a test of each byte: every byte at every place, between bytes that could carry into it.
func TestMasks(t *testing.T) {
	const seed = 41
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	check := func(b *[blockSize]byte) {
		var high, edge, euro, below, continuation uint64
		for i, c := range b {
			for _, m := range []struct {
				mask *uint64
				has  bool
			}{{&high, c >= 0x80}, {&edge, c == 0x7f || c == 0xff}, {&euro, c == 0x80}, {&below, c < 0x40}, {&continuation, c >= 0x80 && c < 0xc0}} {
				if m.has {
					*m.mask |= 1 << i
				}
			}
		}
		gotEdge, gotEuro := edgeMasks(b)
		if highMask(b) != high || gotEdge != edge || gotEuro != euro || below40Mask(b) != below || continuationMask(b) != continuation {
			t.Fatalf("% x: %x %x %x %x %x", b, highMask(b), gotEdge, gotEuro, below40Mask(b), continuationMask(b))
		}
	}
	for _, around := range []byte{0, 0x3f, 0x7f, 0x80, 0xbf, 0xff} {
		for at := range blockSize {
			for c := range 256 {
				b := [blockSize]byte(slices.Repeat([]byte{around}, blockSize))
				b[at] = byte(c)
				check(&b)
			}
		}
	}
	for range race.Cases(t, 1_000_000) {
		var b [blockSize]byte
		for i := range b {
			b[i] = byte(r.Uint32())
			if r.IntN(2) == 0 {
				b[i] = []byte{0, 0x3f, 0x40, 0x7f, 0x80, 0x81, 0xbf, 0xc0, 0xfe, 0xff}[r.IntN(10)]
			}
		}
		check(&b)
	}
}

// TestUnits compares the decoding of UTF-16 of both byte orders, including words of ASCII, with Go's library: all code units, at all places of a
// word.
func TestUnits(t *testing.T) {
	const seed = 42
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	little, big := mustLookup(t, "utf-16le"), mustLookup(t, "utf-16be")
	check := func(units []uint16) {
		var a, b []byte
		for _, u := range units {
			a, b = append(a, byte(u), byte(u>>8)), append(b, byte(u>>8), byte(u))
		}
		want := string(utf16.Decode(units))
		x, _ := little.Append(nil, a)
		y, _ := big.Append(nil, b)
		if string(x) != want || string(y) != want {
			t.Fatalf("%x: %q and %q, want %q", units, x, y, want)
		}
	}
	for u := range 1 << 16 {
		units := []uint16{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}
		units[u%8] = uint16(u)
		check(units)
	}
	for range race.Cases(t, 1_000_000) {
		units := make([]uint16, r.IntN(17))
		for i := range units {
			units[i] = []uint16{uint16(r.IntN(0x80)), uint16(r.IntN(0x80)), uint16(r.IntN(0x100)), uint16(r.Uint32()), 0xd800 + uint16(r.IntN(0x800))}[r.IntN(5)]
		}
		check(units)
	}
}
