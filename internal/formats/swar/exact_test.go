package swar

import (
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// TestEveryByte compares every byte with every pattern, at every place of a block, between bytes that could cause or take a carry.
func TestEveryByte(t *testing.T) {
	const seed = 64
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	around := []func(pattern byte) byte{
		func(byte) byte { return 0 }, func(byte) byte { return 0xff }, func(p byte) byte { return p },
		func(p byte) byte { return p ^ 1<<r.IntN(8) }, func(p byte) byte { return p - 1 }, func(byte) byte { return byte(r.Uint32()) },
	}
	cases, step := 0, 1
	if race.Reduced(t) {
		step = 7
	}
	for pattern := range 256 {
		for b := 0; b < 256; b += step {
			at := (pattern + b) % Block
			for _, fill := range around {
				var p [Block]byte
				var equal, ends, quotes uint64
				ascii := true
				for i := range p {
					if p[i] = fill(byte(pattern)); i == at || i == (at+29)%Block {
						p[i] = byte(b)
					}
					if p[i] == byte(pattern) {
						equal |= 1 << i
					}
					if p[i] == byte(pattern) || p[i] == '\n' {
						ends |= 1 << i
					}
					if p[i] == '"' {
						quotes |= 1 << i
					}
					ascii = ascii && p[i] < 0x80
				}
				cases += Block
				w := Spread(byte(pattern))
				q, e := QuotesAndEnds(&p, w)
				if Two(&p, w, w) != equal || Three(&p, w, w, w) != equal || Four(&p, w, w, w, w) != equal || q != quotes || e != ends || ASCII(&p) != ascii {
					t.Fatalf("%x in %x", pattern, p)
				}
				if pattern >= 0x80 {
					continue
				}
				f := NewFinder(byte(pattern), byte(pattern), byte(pattern))
				var two, alone, third [2]uint64
				f.Two(two[:1], p[:])
				none := f.TwoAlone(alone[:1], p[:])
				f.TwoAndThird(two[1:], third[:1], p[:])
				if two[0] != equal || two[1] != equal || alone[0] != equal || third[0] != equal || none != (equal == 0) {
					t.Fatalf("%x in %x by a finder", pattern, p)
				}
			}
		}
	}
	t.Logf("%d bytes", cases)
}

// TestBits compares results derived from masks with a test of each bit.
func TestBits(t *testing.T) {
	const seed = 65
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for n := range race.Cases(t, 1_000_000) {
		m := r.Uint64()
		switch n % 4 {
		case 0:
			m &= r.Uint64() & r.Uint64()
		case 1:
			low := r.IntN(64)
			m = 1<<low | 1<<(low+r.IntN(64-low))
		case 2:
			m = ^m & (r.Uint64() | r.Uint64())
		}
		size := n % 80
		odd, lowest, tail, xor := false, -1, uint64(0), uint64(0)
		for i := range Block {
			set := (m>>i)%2 == 1
			if set && lowest < 0 {
				lowest = i
			}
			if set && i < size {
				tail |= 1 << i
			}
			if odd = odd != set; odd {
				xor |= 1 << i
			}
		}
		if PrefixXor(m) != xor || Tail(m, size) != tail || lowest >= 0 && Lowest(m) != lowest {
			t.Fatalf("%x, %d bytes", m, size)
		}
	}
}
