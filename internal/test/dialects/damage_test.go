package dialects

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bulkload/internal/test/race"
)

// TestDamage reads files that are cut off, or have bytes changed, added or removed: whatever the result, rows, bad records
// and the error must be the same in one split by one worker and in many by seven.
func TestDamage(t *testing.T) {
	s := seed(t)
	rounds := number64(t, "BULKLOAD_DIALECTS_DAMAGE", map[bool]uint64{true: 20, false: 60}[race.Reduced(t)])
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			x := newText(&k, 3000, true, s)
			m, _ := x.padded(0)
			good := m.bytes()
			r := rand.New(rand.NewPCG(s, 11))
			for round := range rounds {
				data, what := k.damage(good, r)
				o := k.options()
				o.SplitSize, o.ChunkSize = 1<<40, 0
				want := read(t.Context(), &mem{parts: [][]byte{data}}, k.name, o, k.cols, 1)
				for i, split := range []int64{1 + int64(r.IntN(8)), 16 + int64(r.IntN(100)), 500, 1 << 40} {
					o.SplitSize, o.ChunkSize = split, []int{0, 1 + r.IntN(200), 1 + r.IntN(8)}[r.IntN(3)]
					got := read(t.Context(), &mem{parts: [][]byte{data}}, k.name, o, k.cols, [...]int{7, 2, 1}[i%3])
					if d := want.differs(&got, k.container == ""); d != "" {
						t.Errorf("round %d: %s: in one split and in splits of %d (%d), chunks of %d: %.600s", round, what, split, got.splits, o.ChunkSize, d)
						if len(data) < 4000 {
							t.Logf("%.200q", data)
						}
						return
					}
				}
			}
		})
	}
}

// damage returns a copy of a file with a few changes.
func (k *kind) damage(good []byte, r *rand.Rand) (data []byte, what string) {
	data = slices.Clone(good)
	if r.IntN(2) == 0 {
		// With few records, since errors hide the records after them.
		n := min(len(data), 1+r.IntN(600))
		data, what = data[:n], fmt.Sprintf("cut to %d bytes ", n)
	}
	for range r.IntN(4) {
		if len(data) == 0 {
			break
		}
		at := r.IntN(len(data))
		switch r.IntN(4) {
		case 0:
			data[at] ^= 1 << r.IntN(8)
			what += fmt.Sprintf("a bit of byte %d, ", at)
		case 1:
			to := min(len(data), at+1+r.IntN(20))
			data = slices.Delete(data, at, to)
			what += fmt.Sprintf("without [%d, %d), ", at, to)
		case 2:
			data[at] = "\"\\\n\r,\t|#@;'\x00\x01\x10\xff"[r.IntN(15)]
			what += fmt.Sprintf("byte %d is %q, ", at, data[at])
		default:
			token := k.tokens[r.IntN(len(k.tokens))]
			data = slices.Insert(data, at, []byte(token)...)
			what += fmt.Sprintf("%q at byte %d, ", token, at)
		}
	}
	return data, what
}
