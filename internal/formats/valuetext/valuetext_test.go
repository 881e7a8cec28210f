package valuetext

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/race"
)

// TestDecimal compares numbers of any length in two's complement with math/big.
func TestDecimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		v := make([]byte, 1+r.IntN(20))
		for i := range v {
			v[i] = byte(r.Uint32()) & []byte{0xff, 0, 0x80}[r.IntN(3)]
		}
		n := new(big.Int).SetBytes(v)
		if v[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
		}
		scale := r.IntN(25)
		want := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
		if got := string(AppendDecimal(nil, v, scale)); got != want {
			t.Fatalf("%x, scale %d: %s, want %s", v, scale, got, want)
		}
	}
}

// TestJSON checks that encoding/json reads back the same text.
func TestJSON(t *testing.T) {
	for _, s := range []string{"", "a\"b\\c", "\b\f\n\r\t\x00\x1f", "企业</>&\u2028"} {
		var got string
		if err := json.Unmarshal(AppendJSON(nil, s), &got); err != nil || got != s {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

// TestDecimal128 compares numbers of two words, also at their limits, with math/big.
func TestDecimal128(t *testing.T) {
	const seed = 101
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	edges := []uint64{0, 1, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1e19, 1e19 - 1, 1e19 + 1}
	for n := range race.Cases(t, 1_000_000) {
		hi, lo := int64(r.Uint64()>>r.IntN(65)), r.Uint64()>>r.IntN(65)
		if n%4 == 0 {
			hi = int64(edges[r.IntN(len(edges))])
		}
		if n%3 == 0 {
			lo = edges[r.IntN(len(edges))]
		}
		if n%2 == 0 {
			hi = -hi
		}
		want := new(big.Int).Mul(big.NewInt(hi), new(big.Int).Lsh(big.NewInt(1), 64))
		want.Add(want, new(big.Int).SetUint64(lo))
		if got := string(AppendDecimal128(nil, hi, lo, 0)); got != want.String() {
			t.Fatalf("%d and %d: %s, want %s", hi, lo, got, want)
		}
	}
}
