package estimate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/testcheck"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

// TestHotKeys compares the summary with counts of every key: it is never too
// high, and too low by no more than it reports, which is a small share.
func TestHotKeys(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		skew := rapid.Float64Range(1.01, 2).Draw(t, "skew")
		parts := rapid.IntRange(1, 4).Draw(t, "parts")
		rng := rand.New(rand.NewPCG(seed, 1))
		zipf := rand.NewZipf(rng, skew, 1, 1<<20)
		const rows = 30_000
		truth := map[string]float64{}
		var all hotKeys
		for part := range parts {
			var h hotKeys
			for range rows / parts {
				text := []byte(fmt.Sprintf("key %d", zipf.Uint64()))
				truth[string(text)] += float64(part + 1)
				h.add(xxhash.Sum64(text), text, 1)
			}
			all.merge(&h, float64(part+1))
		}
		total := 0.0
		for _, n := range truth {
			total += n
		}
		if all.lost > total/hotKeysKept {
			t.Fatalf("%.0f of %.0f rows were lost sight of", all.lost, total)
		}
		seen := map[string]bool{}
		last := total
		for _, k := range all.top(hotKeysKept * 2) {
			if want := truth[k.text]; k.rows > want || k.rows+all.lost < want || k.rows > last {
				t.Fatalf("%s: %.0f rows, it has %.0f, with %.0f lost", k.text, k.rows, want, all.lost)
			}
			seen[k.text], last = true, k.rows
		}
		for text, n := range truth {
			if n > all.lost && !seen[text] {
				t.Fatalf("%s with %.0f rows was forgotten, %.0f were lost", text, n, all.lost)
			}
		}
	})
}

// TestHotKeysReset checks that a summary can be reused after a reset.
func TestHotKeysReset(t *testing.T) {
	var h hotKeys
	for i := range uint64(10_000) {
		h.add(i, []byte{byte(i)}, 1)
	}
	h.reset()
	h.add(7, []byte("seven"), 2)
	if got := h.top(3); len(got) != 1 || got[0] != (hotKey{"seven", 2}) || h.lost != 0 {
		t.Errorf("%+v, %v lost", got, h.lost)
	}
}

func BenchmarkHotKeys(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var texts [][]byte
	for range 1 << 16 {
		texts = append(texts, fmt.Appendf(nil, "A%d", rng.IntN(1<<14)))
	}
	var h hotKeys
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		text := texts[i&(1<<16-1)]
		h.add(xxhash.Sum64(text), text, 1)
		i++
	}
}
