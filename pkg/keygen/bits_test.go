package keygen

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"unicode/utf16"

	"bulkload/internal/test/race"
)

// TestMurmur3OfBytes compares the hash with a simple one whose blocks are built from bytes, and whose rotations are built from shifts: all lengths up
// to 24, at all places of a word. [TestMurmur3] compares with HBase's values.
func TestMurmur3OfBytes(t *testing.T) {
	const seed = 91
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	turn := func(x uint32, n int) uint32 { return (x << n) | (x >> (32 - n)) }
	mix := func(k uint32) uint32 { return turn(k*0xcc9e2d51, 15) * 0x1b873593 }
	p := make([]byte, 32)
	for n := range race.Cases(t, 1_000_000) {
		for i := range 6 {
			p[(n*7+i)%len(p)] = byte(r.Uint32())
		}
		key, h := p[n%8:n%8+n/8%25], r.Uint32()
		want := h
		block, factor := uint32(0), uint32(1)
		for i, b := range key {
			block += uint32(b) * factor
			if factor *= 256; i%4 == 3 {
				want = turn(want^mix(block), 13)*5 + 0xe6546b64
				block, factor = 0, 1
			}
		}
		want ^= mix(block)
		want ^= uint32(len(key))
		want ^= want >> 16
		want *= 0x85ebca6b
		want ^= want >> 13
		want *= 0xc2b2ae35
		want ^= want >> 16
		if got := murmur3(key, h); got != int32(want) {
			t.Fatalf("%x, seed %x: %x, want %x", key, h, got, want)
		}
	}
}

// TestJavaHashOfUnits compares the hash with its definition over the UTF-16 units that Go's library computes, for texts of all planes.
func TestJavaHashOfUnits(t *testing.T) {
	const seed = 92
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range race.Cases(t, 1_000_000) {
		text := make([]rune, r.IntN(17))
		for i := range text {
			text[i] = rune(r.IntN([]int{0x80, 0x800, 0xd800, 0x110000}[r.IntN(4)]))
		}
		want := int64(0)
		for _, u := range utf16.Encode(text) {
			want = (want*31 + int64(u)) % (1 << 32)
		}
		if got := JavaHash([]byte(string(text))); uint32(got) != uint32(want) {
			t.Fatalf("%q: %d, want %d", string(text), got, int32(uint32(want)))
		}
	}
}

// TestAlphabet compares bit sets with lists of bytes, each byte of 4,000 sets: a million cases.
func TestAlphabet(t *testing.T) {
	const seed = 93
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range race.Cases(t, 4000) {
		var sets [2]Alphabet
		var lists [2][]byte
		for i := range sets {
			for range r.IntN(300) >> r.IntN(8) {
				b := byte(r.Uint32())
				if i == 1 && len(lists[0]) > 0 && r.IntN(4) > 0 {
					b = lists[0][r.IntN(len(lists[0]))]
				}
				sets[i].add(b)
				lists[i] = append(lists[i], b)
			}
			slices.Sort(lists[i])
			lists[i] = slices.Compact(lists[i])
		}
		a, b := sets[0], sets[1]
		both := slices.Concat(lists[0], lists[1])
		slices.Sort(both)
		within := true
		for _, c := range lists[1] {
			within = within && bytes.IndexByte(lists[0], c) >= 0
		}
		for c := range 256 {
			if a.Has(byte(c)) != (bytes.IndexByte(lists[0], byte(c)) >= 0) {
				t.Fatalf("%x in %x", c, lists[0])
			}
		}
		if a.Len() != len(lists[0]) || !bytes.Equal(a.bytes(), lists[0]) || b.Within(a) != within || !bytes.Equal(a.union(b).bytes(), slices.Compact(both)) {
			t.Fatalf("%x and %x", lists[0], lists[1])
		}
	}
}

// TestDigits compares hex digits with Go's library for every byte, digests with numbers parsed from their hex digits, and whole numbers with strconv.
func TestDigits(t *testing.T) {
	const seed = 94
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for c := range 256 {
		want, err := hex.DecodeString("0" + string([]byte{byte(c)}))
		got, ok := hexDigit(byte(c))
		if ok != (err == nil) || ok && got != want[0] {
			t.Fatalf("%x: %d %t", c, got, ok)
		}
	}
	for range race.Cases(t, 1_000_000) {
		text := make([]byte, r.IntN(12))
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		seven, err := strconv.ParseUint(fmt.Sprintf("%x", md5.Sum(text))[:7], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(md5Shift(nil, text)), fmt.Sprintf("%07x", seven/2); got != want {
			t.Fatalf("%x: %s, want %s", text, got, want)
		}
	}
	for n := range race.Cases(t, 1_000_000) {
		text := strconv.AppendUint(nil, r.Uint64()>>r.IntN(64), 10)
		switch n % 8 {
		case 0:
			text = append([]byte("-"), text...)
		case 1:
			text = append([]byte("+00"), text...)
		case 2:
			text = strconv.AppendUint([]byte([]string{"", "-"}[r.IntN(2)]), 1<<63-3+uint64(r.IntN(6)), 10)
		case 3:
			text[r.IntN(len(text))] ^= 1 << r.IntN(8)
		case 4:
			text = append(text, text...)
		}
		want, err := strconv.ParseInt(string(text), 10, 64)
		got, bad := parseInt(text)
		if (err == nil) != (bad == nil) || err == nil && got != want {
			t.Fatalf("%q: %d, %v; want %d, %v", text, got, bad, want, err)
		}
	}
	// Java's Long.hashCode: the upper half XOR the lower one, bit by bit.
	for range race.Cases(t, 1_000_000) {
		v, want := r.Uint64(), uint32(0)
		for i := range 32 {
			if (v>>i)%2 != (v>>(i+32))%2 {
				want |= 1 << i
			}
		}
		if got, err := longHash(int64(v), 0); err != nil || got != int64(int32(want)) {
			t.Fatalf("%x: %x, want %x", v, got, want)
		}
	}
}
