package newkeys

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestLifetime checks that the first time-to-live tag of a cell shortens the TTL of its family, and that further ones do not count, as in HBase.
func TestLifetime(t *testing.T) {
	ttl := func(ms int64) []byte { return binary.BigEndian.AppendUint64([]byte{0, 9, tagTTL}, uint64(ms)) }
	other := []byte{0, 3, 77, 1, 2}
	for _, c := range []struct {
		tags         []byte
		family, want int64
	}{
		{nil, 500, 500}, {other, 500, 500},
		{ttl(100), 500, 100}, {ttl(900), 500, 500}, {ttl(100), math.MaxInt64, 100},
		{append(other[:5:5], ttl(100)...), 500, 100},
		{append(ttl(300), ttl(100)...), 500, 300}, {append(ttl(900), ttl(100)...), 500, 500},
		{ttl(-1), 500, 500}, {ttl(100)[:8], 500, 500},
	} {
		if got := lifetime(c.family, c.tags); got != c.want {
			t.Errorf("%x in a family of %d ms: %d ms, want %d", c.tags, c.family, got, c.want)
		}
	}
}
