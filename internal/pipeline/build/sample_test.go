package build

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestSamplerIsBoundByBytesOfKeys remembers fewer rows where keys are long, and the first always.
func TestSamplerIsBoundByBytesOfKeys(t *testing.T) {
	for _, size := range []int{8, 3_000, 32 << 10} {
		s := sampler{most: 20}
		for i := range 10_000 {
			key := bytes.Repeat([]byte{'k'}, size)
			binary.BigEndian.PutUint64(key, uint64(i))
			s.add(key, key, &rowTime{})
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
