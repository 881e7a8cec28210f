package tablesource

import (
	"encoding/binary"
	"math"
	"testing"

	"bulkload/internal/hbase/snapshot"
)

// TestFileID checks that the ids of a snapshot's files are different, and numbers of 63 bits, for every checksum.
func TestFileID(t *testing.T) {
	for _, sum := range []uint64{0, 1, math.MaxInt64, 1 << 63, math.MaxUint64 - 2, math.MaxUint64} {
		snap := &snapshot.Snapshot{}
		binary.BigEndian.PutUint64(snap.Checksum[:], sum)
		seen := map[uint64]bool{}
		for ordinal := range 100 {
			id, ok := region{snap: snap, ordinal: ordinal}.FileID()
			if !ok || id > math.MaxInt64 || seen[id] || id != (sum/2+uint64(ordinal)+1)%(1<<63) {
				t.Errorf("checksum %x, file %d: %x", sum, ordinal, id)
			}
			seen[id] = true
		}
	}
}
