package celltype

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"bulkload/internal/test/race"
)

// phoenix encodes the bits of a number as PFloat and PDouble describe it: if the sign bit is set, all bits are inverted, else only the sign bit; then
// 1 is added.
func phoenix(u uint64, size int) uint64 {
	turned := u
	for bit := range size {
		if bit == size-1 || u>>(size-1) == 1 {
			turned ^= 1 << bit
		}
	}
	return turned + 1
}

// TestBits compares numbers in the encodings of Phoenix and HBase with their descriptions, bit by bit, in both directions: all numbers of 16 bits,
// and random ones around every power of two.
func TestBits(t *testing.T) {
	const seed = 111
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	whole := map[string]int{"short": 2, "int": 4, "long": 8}
	converters, back := map[string]Converter{}, map[string]Appender{}
	for _, encoding := range []string{"hbase", "phoenix"} {
		for _, name := range []string{"short", "int", "long", "float", "double"} {
			typ := Type{Type: name, Encoding: encoding}
			c, err := typ.Converter()
			if err != nil {
				t.Fatal(err)
			}
			converters[encoding+name], back[encoding+name] = c, typ.Appender()
		}
	}
	check := func(encoding, name, text string, size int, u uint64) {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(u >> (8 * (size - 1 - i)))
		}
		got, err := converters[encoding+name](nil, []byte(text))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s %s of %s: %x, %v, want %x", encoding, name, text, got, err, want)
		}
		again, ok := back[encoding+name](nil, got)
		if !ok || string(again) != text {
			t.Fatalf("%s %s of %s is read back as %s", encoding, name, text, again)
		}
	}
	integer := func(v int64) {
		for name, size := range whole {
			text := strconv.FormatInt(v, 10)
			if least := -math.Ldexp(1, 8*size-1); float64(v) < least || float64(v) >= -least {
				if _, err := converters["hbase"+name](nil, []byte(text)); err == nil && size < 8 {
					t.Fatalf("%s takes %s", name, text)
				}
				continue
			}
			check("hbase", name, text, size, uint64(v))
			check("phoenix", name, text, size, uint64(v)^1<<(8*size-1))
		}
	}
	floating := func(u uint64) {
		if f := math.Float64frombits(u); !math.IsNaN(f) && !math.IsInf(f, 0) {
			text := strconv.FormatFloat(f, 'g', -1, 64)
			check("hbase", "double", text, 8, u)
			check("phoenix", "double", text, 8, phoenix(u, 64))
		}
		if f := math.Float32frombits(uint32(u)); !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) {
			text := fmt.Sprint(strconv.FormatFloat(float64(f), 'g', -1, 32))
			check("hbase", "float", text, 4, u)
			check("phoenix", "float", text, 4, phoenix(u&(1<<32-1), 32))
		}
	}
	for v := range int64(1<<16 + 200) {
		integer(v - 1<<15 - 100)
	}
	for i := range 63 {
		for d := range int64(20) {
			integer(int64(1)<<i + d - 10)
			integer(-(int64(1) << i) + d - 10)
		}
	}
	for range race.Cases(t, 1_000_000) {
		integer(int64(r.Uint64()) >> r.IntN(64))
		floating(r.Uint64())
	}
	for _, u := range []uint64{0, 1 << 63, 1 << 31, 1, 1<<63 | 1, 1<<31 | 1, math.Float64bits(1), math.Float64bits(-1), uint64(math.Float32bits(1)), uint64(math.Float32bits(-1))} {
		floating(u)
	}
}
