package hfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestProbesAreAsManyAsAskedFor checks that a filter that claims fewer keys
// than the file has is not probed more often for that reason.
func TestProbesAreAsManyAsAskedFor(t *testing.T) {
	b := &bloomProof{meta: &bloomReader{kind: BloomRow, hashes: 1, hash: murmur2, keys: 1}, stored: make([]byte, 8), probes: 5, rnd: rand.New(rand.NewPCG(1, 1))}
	for range 10 {
		b.probeAbsent([]byte("row"), nil)
	}
	if b.probed != 5 {
		t.Errorf("asked %d times", b.probed)
	}
}

// TestPrefixFilterHasNoRate checks that a prefix filter is not probed: it
// contains the prefixes of the probes, so every answer would count as false.
func TestPrefixFilterHasNoRate(t *testing.T) {
	for bloom, rate := range map[BloomType]bool{BloomRow: true, BloomRowPrefix: false, BloomRowCol: true} {
		var cells []Cell
		for i := range 1000 {
			cells = append(cells, Cell{Row: fmt.Appendf(nil, "%04d-row", i), Family: []byte("f"), Timestamp: 1, Type: Put})
		}
		b := writeFile(t, Options{Bloom: bloom, BloomPrefix: 3}, cells)
		res := Check(bytes.NewReader(b), int64(len(b)), CheckOptions{Probes: 1000})
		if got := res.BloomFalsePositives; !res.OK || (got != nil) != rate || got != nil && *got > 2*0.01 { // the error rate of the options, and a thousand probes' luck, which is always the same
			t.Errorf("%s: %+v, rate %v", bloom, res, got)
		}
	}
}
