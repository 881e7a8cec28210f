package parquet

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// TestBitsAt compares numbers of each width at each bit with a reading bit by bit.
func TestBitsAt(t *testing.T) {
	const seed = 81
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, 32)
	for n := range race.Cases(t, 1_000_000) {
		data[n%len(data)] = byte(r.Uint32())
		width, bit := n%65, r.IntN(16)
		want := uint64(0)
		for i := width - 1; i >= 0; i-- {
			want = want*2 + uint64(data[(bit+i)/8]>>((bit+i)%8))%2
		}
		if got := bitsAt(data, bit, width); got != want {
			t.Fatalf("%d bits at %d of %x: %x, want %x", width, bit, data, got, want)
		}
		if n%200 > 0 {
			continue
		}
		if bools := appendBits(nil, data, 1+n%256); len(bools) != 1+n%256 || int(bools[n%256]) != int(data[n%256/8]>>(n%8))%2 {
			t.Fatalf("%x of %x", bools, data)
		}
	}
}

// TestHybrid reads numbers of each width that are written as bit-packed runs and as runs of one value, in pieces.
func TestHybrid(t *testing.T) {
	const seed = 82
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for n := range race.Cases(t, 1_000_000) {
		width := n%32 + 1
		var data []byte
		var want []uint32
		for range 1 + r.IntN(4) {
			number := func() uint32 { return uint32(r.Uint64() & (1<<width - 1)) }
			if r.IntN(2) == 0 {
				v, count := number(), 1+r.IntN(100)
				data = binary.AppendUvarint(data, 2*uint64(count))
				for i := range (width + 7) / 8 {
					data = append(data, byte(v>>(8*i)))
				}
				for range count {
					want = append(want, v)
				}
				continue
			}
			groups := 1 + r.IntN(5)
			data = append(data, byte(groups<<1|1))
			packed := make([]byte, groups*width)
			for i := range groups * 8 {
				v := number()
				want = append(want, v)
				for b := range width {
					packed[(i*width+b)/8] |= byte((v>>b)%2) << ((i*width + b) % 8)
				}
			}
			data = append(data, packed...)
		}
		h := hybrid{end: len(data), width: width}
		data = append(data, make([]byte, slack)...)
		got := make([]uint32, len(want))
		for at := 0; at < len(got); {
			k := min(1+r.IntN(20), len(got)-at)
			if !h.read(data, got[at:at+k]) {
				t.Fatalf("width %d: it ends at %d of %d", width, at, len(got))
			}
			at += k
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("width %d, number %d: %x, want %x", width, i, got[i], want[i])
			}
		}
	}
}

// TestFloat16 compares all numbers of half precision with their definition, computed with integers.
func TestFloat16(t *testing.T) {
	for b := range 1 << 16 {
		exp, frac := b/1024%32, b%1024
		got := float16(uint16(b))
		if exp == 31 && frac > 0 {
			if !math.IsNaN(got) {
				t.Fatalf("%04x: %g", b, got)
			}
			continue
		}
		want := math.Inf(1)
		if exp < 31 {
			whole := int64(frac) // in units of 2^-24
			if exp > 0 {
				whole = (1024 + int64(frac)) * (int64(1) << (exp - 1))
			}
			want, _ = new(big.Rat).SetFrac64(whole, 1<<24).Float64()
		}
		if b >= 0x8000 {
			want = -want
		}
		if got != want || math.Signbit(got) != (b >= 0x8000) {
			t.Fatalf("%04x: %g, want %g", b, got, want)
		}
	}
}
