package dfs

import (
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"net"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestCombinedCRC compares the checksum of joined pieces with the checksum of the whole.
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

// answerOf returns a BlockOpResponseProto.
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
	return m
}

// TestBlockSums parses valid and invalid responses.
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
		"no message":  {[]byte{0xff, 0xff, 0xff}, 0, false, true},
		"no checksum": {[]byte{8, 0}, 0, false, true},
		"empty":       {nil, 0, false, true},
	} {
		sum, err := askedSum(t, protowire.AppendBytes(nil, c.answer))
		if none := errors.Is(err, ErrNoChecksum); sum != c.sum || none != c.none || !none && (err != nil) != c.fails {
			t.Errorf("%s: %08x, %v", name, sum, err)
		}
	}
	for name, answer := range map[string][]byte{
		"too long":  protowire.AppendVarint(nil, 1<<40),
		"no length": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"cut off":   {30, 8, 0},
	} {
		if sum, err := askedSum(t, answer); err == nil || errors.Is(err, ErrNoChecksum) {
			t.Errorf("%s: %08x, %v", name, sum, err)
		}
	}
}

// askedSum requests a block's checksum from a DataNode that sends the given response.
func askedSum(t *testing.T, answer []byte) (uint32, error) {
	t.Helper()
	l := testcheck.Serve(t, func(c net.Conn) {
		op, message, err := testdfs.TakeOperation(c)
		if op == testdfs.ReadBlock {
			return // it is probed for its checksums
		}
		options, ok := frames.Bytes(message, blockChecksumOptions)
		if err != nil || op != 85 || !ok || frames.Number(options, checksumType) != compositeCRC {
			t.Errorf("operation %d, %x, %v", op, message, err)
		}
		c.Write(answer)
	})
	b := blockAt(t, l.Addr())
	return ready(t).blockChecksum(t.Context(), b)
}

// TestBlockWithoutChecksums checks that a DataNode that closes the connection counts as one without checksums if it reads the block without
// them, otherwise as failed.
func TestBlockWithoutChecksums(t *testing.T) {
	for kind := range uint64(3) {
		l := testcheck.Serve(t, func(c net.Conn) {
			if op, message, err := testdfs.TakeOperation(c); err == nil && op == testdfs.ReadBlock {
				c.Write(testdfs.Shape{Kind: kind, Chunk: 512, Packet: 512}.Answer([]byte("block"), testdfs.ParseRead(message)))
			}
		})
		b := blockAt(t, l.Addr())
		if _, err := ready(t).blockChecksum(t.Context(), *b.WithSize(5)); errors.Is(err, ErrNoChecksum) != (kind == 0) || err == nil {
			t.Errorf("checksums of type %d: %v", kind, err)
		}
	}
}

// FuzzBlockSums checks that parseSum never panics.
func FuzzBlockSums(f *testing.F) {
	f.Add(answerOf(0, crc32cType, compositeCRC, []byte{1, 2, 3, 4}))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = parseSum(b) })
}
