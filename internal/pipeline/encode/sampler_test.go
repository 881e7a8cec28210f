package encode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"bulkload/internal/pipeline/cells"
	"bulkload/internal/test/testcheck"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

// TestSamplesOfRanges checks that rows added in pieces give the same sample as rows added one by one.
func TestSamplesOfRanges(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		most := rapid.IntRange(0, 5).Draw(t, "most")
		longest := rapid.SampledFrom([]int{10, 40_000}).Draw(t, "longest key")
		want, got := sampler{most: most}, sampler{most: most}
		for range rapid.IntRange(0, 30).Draw(t, "pieces") {
			var keys [][]byte
			var sums []uint64
			for range r.IntN(20) {
				key := make([]byte, 1+r.IntN(longest))
				row := fmt.Append(nil, r.Uint64())
				want.add(key, row, &cells.RowTime{})
				keys, sums = append(keys, key), append(sums, xxhash.Sum64(row))
			}
			got.addAll(keys, sums)
		}
		if fmt.Sprint(got.rows) != fmt.Sprint(want.rows) || most > 0 && got.seen != want.seen {
			t.Fatalf("%d of %d rows, want %d of %d", len(got.rows), got.seen, len(want.rows), want.seen)
		}
	})
}

// TestSamplerIsBoundByBytesOfKeys checks that fewer rows are kept if keys are long, and the first always.
func TestSamplerIsBoundByBytesOfKeys(t *testing.T) {
	for _, size := range []int{8, 3_000, 32 << 10} {
		s := sampler{most: 20}
		for i := range 10_000 {
			key := bytes.Repeat([]byte{'k'}, size)
			binary.BigEndian.PutUint64(key, uint64(i))
			s.add(key, key, &cells.RowTime{})
			if s.bytes != len(s.rows)*size || s.bytes > sampleKeyBytes || len(s.rows) > s.most {
				t.Fatalf("keys of %d bytes: %d rows, %d bytes of keys", size, len(s.rows), s.bytes)
			}
		}
		if len(s.rows) == 0 || binary.BigEndian.Uint64(s.rows[0].Key) != 0 || size == 8 && len(s.rows) < s.most/2 {
			t.Errorf("keys of %d bytes: %d rows", size, len(s.rows))
		}
		for _, r := range s.rows {
			if n := binary.BigEndian.Uint64(r.Key); int64(n)%s.step != 0 {
				t.Errorf("row %d with a step of %d", n, s.step)
			}
		}
	}
}
