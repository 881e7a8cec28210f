package avro

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// TestLong compares numbers with Go's library, whose varints are also zig-zag with seven bits a byte: around every power of two, whole and cut off.
func TestLong(t *testing.T) {
	const seed = 121
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	check := func(v int64) {
		buf := binary.AppendVarint(nil, v)
		n := len(buf)
		c := cursor{buf: append(buf, 0x80, 0), end: n}
		if got, ok := c.long(); !ok || got != v || c.at != n {
			t.Fatalf("%d: %d %t, %d of %d bytes", v, got, ok, c.at, n)
		}
		for cut := range n {
			c := cursor{buf: buf, end: cut}
			if _, ok := c.long(); ok {
				t.Fatalf("%d is read of %d of %d bytes", v, cut, n)
			}
		}
	}
	for i := range 64 {
		for d := range int64(200) {
			check(int64(1)<<i + d - 100)
			check(-(int64(1) << i) + d - 100)
		}
	}
	for range race.Cases(t, 1_000_000) {
		check(int64(r.Uint64()) >> r.IntN(64))
	}
}
