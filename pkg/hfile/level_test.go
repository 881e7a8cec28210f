package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/golang/snappy"
)

// payloads returns typical contents of blocks: noise, near and far repetitions, cells.
func payloads(r *rand.Rand) [][]byte {
	var all [][]byte
	for _, n := range []int{1, 31, 32, 33, 300, 511, 512, 4 << 10, 16<<10 - 1, 16 << 10, 64 << 10, 64<<10 + 1, 200 << 10, 600 << 10} {
		noise := make([]byte, n)
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		far := bytes.Clone(noise)
		copy(far[n-n/4:], noise[:n/4]) // repeats bytes up to 450 KiB before
		words := bytes.Repeat([]byte("20231205 \x00\x05approved"), n/18+1)[:n]
		var cells []byte
		for i := 0; len(cells) < n; i++ {
			cells = fmt.Appendf(cells, "\x0f%04d-%x\x00%d", i, r.Uint32(), r.IntN(100))
		}
		all = append(all, noise, far, words, cells[:n])
	}
	return all
}

// TestSnappyIsPlain checks that golang/snappy unpacks each piece, that no piece
// is longer than a reader's buffer, and that the total size at level better is
// not above the size at default.
func TestSnappyIsPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var sizes [2]int
	for _, src := range payloads(r) {
		for level := range levelNames {
			c := compressor{codec: CompressionSnappy, level: Level(level)}
			packed, err := c.append(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			sizes[level] += len(packed)
			var got []byte
			for rest := packed[4:]; len(got) < len(src); {
				n := binary.BigEndian.Uint32(rest)
				if n > streamBuffer {
					t.Fatalf("a piece of %d bytes", n)
				}
				piece, err := snappy.Decode(nil, rest[4:4+n])
				if err != nil {
					t.Fatalf("level %s, %d bytes: %v", c.level, len(src), err)
				}
				got, rest = append(got, piece...), rest[4+n:]
			}
			if !bytes.Equal(got, src) {
				t.Fatalf("level %s, %d bytes unpack to others", c.level, len(src))
			}
		}
	}
	if sizes[LevelBetter] > sizes[LevelDefault] {
		t.Errorf("better makes %d bytes, default %d", sizes[LevelBetter], sizes[LevelDefault])
	}
}

// TestCompressionDependsOnPayloadAlone checks that the output depends neither
// on earlier payloads nor on concurrent compression. Otherwise files would
// differ from build to build.
func TestCompressionDependsOnPayloadAlone(t *testing.T) {
	all := payloads(rand.New(rand.NewPCG(4, 4)))
	for codec := range codecNames {
		for level := range levelNames {
			want := make([][]byte, len(all))
			for i, src := range all {
				c := compressor{codec: Compression(codec), level: Level(level)}
				var err error
				if want[i], err = c.append(nil, src); err != nil {
					t.Fatal(err)
				}
			}
			var wg sync.WaitGroup
			for worker := range 3 {
				wg.Go(func() {
					c := compressor{codec: Compression(codec), level: Level(level)}
					for _, i := range rand.New(rand.NewPCG(5, uint64(worker))).Perm(len(all)) {
						if got, err := c.append(nil, all[i]); err != nil || !bytes.Equal(got, want[i]) {
							t.Errorf("%s, level %s: %d bytes are packed to %d bytes, and to other %d (%v)", c.codec, c.level, len(all[i]), len(want[i]), len(got), err)
						}
					}
				})
			}
			wg.Wait()
		}
	}
}
