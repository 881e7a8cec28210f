package hfile

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// TestCommonPrefix compares the result with a byte-by-byte comparison: all lengths up to 16 in pairs, at all places of a word, equal up to a
// bit.
func TestCommonPrefix(t *testing.T) {
	const seed = 51
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	check := func(a, b []byte) {
		want := 0
		for want < len(a) && want < len(b) && a[want] == b[want] {
			want++
		}
		if got := commonPrefix(a, b); got != want {
			t.Fatalf("%x and %x: %d", a, b, got)
		}
	}
	var x, y [40]byte
	for n := range race.Cases(t, 1_000_000) {
		from, to := n%8, r.IntN(8)
		a, b := x[from:from+n/8%17], y[to:to+r.IntN(33)]
		for i := range x {
			x[i] = byte(r.Uint32())
		}
		copy(b, a)
		if len(b) > 0 && n%3 > 0 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		check(a, b)
		check(b, a)
	}
}

// TestVlong checks Hadoop's variable-length numbers: one byte from -112 to 127, otherwise a length byte and the minimum number of bytes.
func TestVlong(t *testing.T) {
	const seed = 52
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	check := func(v int64) {
		want := []byte{byte(v)}
		if v < -112 || v > 127 {
			n, first := new(big.Int).SetInt64(v), -112
			if v < 0 {
				n, first = n.Not(n), -120
			}
			digits := n.Bytes()
			want = append([]byte{byte(first - len(digits))}, digits...)
		}
		got := appendVlong(nil, v)
		back, n := readVlong(append(got, 0xee))
		if !bytes.Equal(got, want) || vlongSize(v) != len(want) || back != v || n != len(want) {
			t.Fatalf("%d: %x, want %x; size %d; read back %d of %d bytes", v, got, want, vlongSize(v), back, n)
		}
		for cut := range got {
			if _, n := readVlong(got[:cut]); n != 0 {
				t.Fatalf("%d: %x cut at %d is read", v, got, cut)
			}
		}
		length := len(new(big.Int).SetUint64(uint64(v)).Bytes())
		if byteLen(uint64(v)) != max(1, length) {
			t.Fatalf("%d has %d bytes", v, byteLen(uint64(v)))
		}
	}
	for i := range 64 {
		for d := range int64(600) {
			check(int64(1)<<i + d - 300)
			check(-(int64(1) << i) + d - 300)
		}
	}
	for range race.Cases(t, 1_000_000) {
		check(int64(r.Uint64() >> r.IntN(64)))
		check(^int64(r.Uint64() >> r.IntN(64)))
	}
}

// plainMurmur3 is Murmur 3 with words built from bytes, and rotations from shifts.
func plainMurmur3(key []byte, seed uint32) uint32 {
	turn := func(x uint32, n int) uint32 { return (x << n) | (x >> (32 - n)) }
	mix := func(k uint32) uint32 { return turn(k*0xcc9e2d51, 15) * 0x1b873593 }
	h := seed
	for i := 0; i+4 <= len(key); i += 4 {
		k := uint32(key[i]) + uint32(key[i+1])*0x100 + uint32(key[i+2])*0x10000 + uint32(key[i+3])*0x1000000
		h = turn(h^mix(k), 13)*5 + 0xe6546b64
	}
	k := uint32(0)
	for i := len(key) - 1; i >= len(key)/4*4; i-- {
		k = k*0x100 + uint32(key[i])
	}
	h ^= mix(k)
	h ^= uint32(len(key))
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return h
}

// plainMurmur2 is Murmur 2 in the same style. Java's bytes are signed, so the bytes of the last block are sign-extended.
func plainMurmur2(key []byte, seed uint32) uint32 {
	const m = 0x5bd1e995
	h := seed ^ uint32(len(key))
	i := 0
	for ; i+4 <= len(key); i += 4 {
		k := uint32(key[i]) + uint32(key[i+1])*0x100 + uint32(key[i+2])*0x10000 + uint32(key[i+3])*0x1000000
		k *= m
		k ^= k >> 24
		k *= m
		h *= m
		h ^= k
	}
	if i < len(key) {
		for j := len(key) - 1; j >= i; j-- {
			signed := uint32(key[j])
			if key[j] >= 0x80 {
				signed += 0xffffff00
			}
			for range j - i {
				signed *= 0x100
			}
			h ^= signed
		}
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return h
}

// plainJenkins is lookup3 in the same style, with its steps in a table.
func plainJenkins(key []byte, seed uint32) uint32 {
	turn := func(x uint32, n int) uint32 { return (x << n) | (x >> (32 - n)) }
	v := [3]uint32{}
	for i := range v {
		v[i] = 0xdeadbeef + uint32(len(key)) + seed
	}
	put := func(block []byte) {
		factor := uint32(1)
		for i, b := range block {
			if i%4 == 0 {
				factor = 1
			}
			v[i/4] += uint32(b) * factor
			factor *= 0x100
		}
	}
	for len(key) > 12 {
		put(key[:12])
		key = key[12:]
		for i, n := range []int{4, 6, 8, 16, 19, 4} {
			x, y, z := &v[i%3], &v[(i+1)%3], &v[(i+2)%3] // a, b, c; b, c, a; c, a, b
			*x -= *z
			*x ^= turn(*z, n)
			*z += *y
		}
	}
	if len(key) == 0 {
		return v[2]
	}
	put(key)
	for i, n := range []int{14, 11, 25, 16, 4, 14, 24} {
		x, y := &v[(2+i)%3], &v[(1+i)%3] // c of b, a of c, b of a
		*x ^= *y
		*x -= turn(*y, n)
	}
	return v[2]
}

// TestHashes compares the hashes of Bloom filters with plain ones: all lengths up to 40, at all places of a word.
func TestHashes(t *testing.T) {
	const seed = 53
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	p := make([]byte, 48)
	for n := range race.Cases(t, 1_000_000) {
		for i := range 6 {
			p[(n*7+i)%len(p)] = byte(r.Uint32())
		}
		key := p[n%8 : n%8+n/8%41]
		s := r.Uint32() & -uint32(r.IntN(2))
		if murmur2(key, s) != plainMurmur2(key, s) || murmur3(key, s) != plainMurmur3(key, s) || jenkins(key, s) != plainJenkins(key, s) {
			t.Fatalf("%x, seed %x: %x %x %x, want %x %x %x", key, s, murmur2(key, s), murmur3(key, s), jenkins(key, s), plainMurmur2(key, s), plainMurmur3(key, s), plainJenkins(key, s))
		}
	}
}

// TestBloomBits compares the position of a bit with Math.abs(hash % bits), and the folding of chunks with a fold bit by bit.
func TestBloomBits(t *testing.T) {
	const seed = 54
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	sizes := []int32{8, 16, 1 << 20, 1 << 30, 1, 1000, 8 * 1000 * 125, 7}
	for n := range race.Cases(t, 1_000_000) {
		h, size := int32(r.Uint32()), sizes[n%len(sizes)]
		if n%50 == 0 {
			h = []int32{0, 1, -1, -1 << 31, 1<<31 - 1, -size, size, 1 - size}[n/50%8]
		}
		want := int64(h) % int64(size)
		if want < 0 {
			want = -want
		}
		if got := bloomBit(h, size, bloomMask(size)); int64(got) != want {
			t.Fatalf("%d of %d bits: %d, want %d", h, size, got, want)
		}
	}
	for n := range race.Cases(t, 1_000_000) {
		a, b := make([]byte, n%33), make([]byte, n%33)
		want := make([]byte, len(a))
		for i := range a {
			a[i], b[i] = byte(r.Uint32()), byte(r.Uint32())
			for bit := range 8 {
				if (a[i]>>bit)%2 == 1 || (b[i]>>bit)%2 == 1 {
					want[i] |= 1 << bit
				}
			}
		}
		if orInto(a, b); !bytes.Equal(a, want) {
			t.Fatalf("%x, want %x", a, want)
		}
	}
}
