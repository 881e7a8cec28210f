package hdfsio

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestCombinedCRC holds the checksum of joined pieces to that of the whole.
func TestCombinedCRC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, size := range []int{0, 1, 2, 7, 511, 512, 513, 65536, 1<<20 + 3} {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		var sum uint32
		for rest := b; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(size))
			sum = combineCRC(sum, crc32.Checksum(rest[:n], table), int64(n))
			rest = rest[n:]
		}
		if want := crc32.Checksum(b, table); sum != want {
			t.Errorf("%d bytes: %08x, want %08x", size, sum, want)
		}
	}
}

// answerOf is a BlockOpResponseProto after its length.
func answerOf(status uint64, kind, how uint64, sum []byte) []byte {
	options := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), how)
	answer := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 512)
	answer = protowire.AppendBytes(protowire.AppendTag(answer, 3, protowire.BytesType), sum)
	answer = protowire.AppendVarint(protowire.AppendTag(answer, 4, protowire.VarintType), kind)
	if how > 0 {
		answer = protowire.AppendBytes(protowire.AppendTag(answer, 5, protowire.BytesType), options)
	}
	m := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), status)
	if status == 0 {
		m = protowire.AppendBytes(protowire.AppendTag(m, 3, protowire.BytesType), answer)
	}
	return protowire.AppendBytes(nil, m)
}

// TestBlockSums reads answers as they come, cut anywhere, and refuses those that are none.
func TestBlockSums(t *testing.T) {
	for name, c := range map[string]struct {
		answer []byte
		sum    uint32
		none   bool
		fails  bool
	}{
		"composite":   {answerOf(0, crc32cType, compositeCRC, []byte{1, 2, 3, 4}), 0x01020304, false, false},
		"old":         {answerOf(0, crc32cType, 0, make([]byte, 16)), 0, true, false},
		"other sums":  {answerOf(0, 1, compositeCRC, []byte{1, 2, 3, 4}), 0, true, false},
		"short":       {answerOf(0, crc32cType, compositeCRC, []byte{1, 2, 3}), 0, false, true},
		"refused":     {answerOf(1, 0, 0, nil), 0, false, true},
		"no message":  {[]byte{3, 0xff, 0xff, 0xff}, 0, false, true},
		"too long":    {protowire.AppendVarint(nil, 1<<40), 0, false, true},
		"no length":   {[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0, false, true},
		"no checksum": {protowire.AppendBytes(nil, []byte{8, 0}), 0, false, true},
	} {
		for step := 1; step <= len(c.answer); step++ {
			w := &sumWatch{}
			w.begin()
			r := &sumReader{to: w, size: 10}
			var err error
			for p := c.answer; len(p) > 0 && err == nil; p = p[min(step, len(p)):] {
				err = r.add(p[:min(step, len(p))])
			}
			sum, size, none := w.end()
			if (err != nil) != c.fails || sum != c.sum || (none != "") != c.none || c.sum != 0 && size != 10 {
				t.Errorf("%s in steps of %d: %08x of %d bytes, none %q, %v", name, step, sum, size, none, err)
			}
		}
	}
}

// FuzzBlockSums never panics, and never takes what is no request for one.
func FuzzBlockSums(f *testing.F) {
	f.Add(answerOf(0, crc32cType, compositeCRC, []byte{1, 2, 3, 4}))
	f.Add([]byte(checksumOp + "\x04\x0a\x02\x0a\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = (&sumReader{to: &sumWatch{}}).add(b)
		if request, size, ok := compositeRequest(b); ok && (len(request) <= len(b) || size < 0) {
			t.Errorf("%q of %d", request, size)
		}
	})
}
