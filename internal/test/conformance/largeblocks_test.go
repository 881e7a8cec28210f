package conformance

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"bulkload/pkg/hfile"
)

// TestLargeBlocks checks blocks of several pieces of the codec's stream, in which values are repeated within 64 KiB
// and beyond, at each level of each codec.
func TestLargeBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a JVM")
	}
	java := startHBase(t, zstdModule)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(6, 6))
	values := make([][]byte, 700) // of 300 KiB
	for i := range values {
		values[i] = make([]byte, 200+r.IntN(500))
		for at := 0; at+8 <= len(values[i]); at += 8 {
			binary.LittleEndian.PutUint64(values[i][at:], r.Uint64())
		}
	}
	for _, codec := range []hfile.Compression{hfile.CompressionSnappy, hfile.CompressionLZ4, hfile.CompressionGZ, hfile.CompressionZSTD} {
		for _, level := range []hfile.Level{hfile.LevelDefault, hfile.LevelBetter} {
			c := randomCase(6, 0)
			c.name = fmt.Sprintf("large-%s-%s", codec, level)
			c.o.Compression, c.o.Level, c.o.BlockSize, c.o.EncodedRatio, c.o.Encoding = codec, level, 1<<20, 0, hfile.EncodingFastDiff
			c.cells = nil
			for i := range 4000 {
				c.cells = append(c.cells, hfile.Cell{Row: fmt.Appendf(nil, "row %06d", i), Family: []byte("f"), Qualifier: []byte("q"),
					Timestamp: clock, Type: hfile.Put, Value: values[r.IntN(len(values))]})
			}
			if err := c.hold(dir, java, map[string]int{}); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}
