package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"bulkload/pkg/hfile"
)

// clock is the time of every file, and of every cell with the timestamp LATEST.
const clock = 1700000000000

// A testCase is the input of a writer: cells in order and settings.
type testCase struct {
	name  string
	cells []hfile.Cell
	o     hfile.Options
}

// text returns the cells in the line format that both sides read.
func (c *testCase) text() []byte {
	var b []byte
	for i := range c.cells {
		b = append(hfile.AppendCellText(b, &c.cells[i]), '\n')
	}
	return b
}

// words returns the settings as arguments of HFileJudge's write command.
func (c *testCase) words() []string {
	o := &c.o
	w := []string{"--now", strconv.Itoa(clock), "--compression", o.Compression.String(), "--encoding", o.Encoding.String(),
		"--bloom", o.Bloom.String(), "--blocksize", strconv.Itoa(o.BlockSize), "--task", o.Task}
	set := func(key string, value any) { w = append(w, "-D", fmt.Sprintf("%s=%v", key, value)) }
	set("hbase.hstore.checksum.algorithm", o.Checksum)
	set("hbase.hstore.bytes.per.checksum", o.BytesPerChecksum)
	set("hbase.writer.unified.encoded.blocksize.ratio", o.EncodedRatio)
	set("hfile.index.block.max.size", o.IndexBlockSize)
	set("hfile.index.block.min.entries", o.IndexMinEntries)
	set("io.storefile.bloom.block.size", o.BloomBlockSize)
	set("io.storefile.bloom.error.rate", o.BloomErrorRate)
	set("hbase.mapreduce.hfileoutputformat.compaction.exclude", o.ExcludeFromMinorCompaction)
	if o.Bloom == hfile.BloomRowPrefix {
		set("RowPrefixBloomFilter.prefix_length", o.BloomPrefix)
	}
	return w
}

// randomCase returns case number i of a seed.
func randomCase(seed uint64, i int) *testCase {
	r := &random{rand.New(rand.NewPCG(seed, uint64(i)))}
	c := &testCase{name: fmt.Sprintf("seed%d-case%04d", seed, i), o: r.options()}
	c.o.Level = hfile.Level(i % 2)
	c.cells = r.cells(c.o)
	return c
}

type random struct{ *rand.Rand }

func pick[T any](r *random, from ...T) T { return from[r.IntN(len(from))] }

func (r *random) one(in int) bool { return r.IntN(in) == 0 }

func (r *random) options() hfile.Options {
	o := hfile.Options{
		Compression:      pick(r, hfile.CompressionNone, hfile.CompressionNone, hfile.CompressionNone, hfile.CompressionSnappy, hfile.CompressionSnappy, hfile.CompressionGZ, hfile.CompressionLZ4, hfile.CompressionZSTD),
		Zstd:             hfile.ZstdBlocks,
		Encoding:         pick(r, hfile.EncodingNone, hfile.EncodingPrefix, hfile.EncodingDiff, hfile.EncodingFastDiff, hfile.EncodingFastDiff, hfile.EncodingRowIndexV1),
		Bloom:            pick(r, hfile.BloomNone, hfile.BloomRow, hfile.BloomRow, hfile.BloomRowCol, hfile.BloomRowPrefix),
		BloomPrefix:      1 + r.IntN(12),
		BlockSize:        pick(r, 1, 16, 100, 256, 1000, 2048, 8192, 65536, 1<<20),
		Checksum:         pick(r, hfile.ChecksumCRC32C, hfile.ChecksumCRC32C, hfile.ChecksumCRC32C, hfile.ChecksumCRC32, hfile.ChecksumNone),
		BytesPerChecksum: pick(r, 16384, 16384, 16384, 512, 100),
		EncodedRatio:     pick(r, 0, 0, 0, 1, 0.5, 0.1),
		IndexBlockSize:   pick(r, 64, 128, 300, 1000, 131072),
		IndexMinEntries:  pick(r, 2, 3, 4, 16),
		BloomBlockSize:   pick(r, 1, 128, 256, 512, 4096, 131072),
		BloomErrorRate:   pick[float32](r, 0.01, 0.01, 0.01, 0.1, 0.001),
		CreateTime:       clock, BulkloadTime: clock,
		Task:                       "attempt_200001010000_0001_r_000000_" + strconv.Itoa(r.IntN(20)),
		ExcludeFromMinorCompaction: r.one(4),
	}
	return o
}

// bytesLike generates byte strings of one of many shapes.
func (r *random) bytesLike(most int) func() []byte {
	sized := func(n int, f func() byte) []byte {
		b := make([]byte, min(n, most))
		for i := range b {
			b[i] = f()
		}
		return b
	}
	alphabet := pick(r, "ab", "\x00\xff", "a\x00", "ab\x00\xff\x7f\x80", "0123456789")
	prefix := sized(r.IntN(100), func() byte { return alphabet[r.IntN(len(alphabet))] })
	chinese := []rune("唯一行键客户本人已核实退回补件同意放款")
	switch r.IntN(7) {
	case 0: // one byte
		return func() []byte { return []byte{byte(r.IntN(256))} }
	case 1: // few letters: prefixes of one another
		n := 1 + r.IntN(12)
		return func() []byte { return sized(1+r.IntN(n), func() byte { return alphabet[r.IntN(len(alphabet))] }) }
	case 2: // a shared prefix and a number
		return func() []byte {
			b := fmt.Appendf(bytes.Clone(prefix), "%08d", r.IntN(100000))
			return b[:min(len(b), most)]
		}
	case 3:
		return func() []byte {
			var b []byte
			for range 1 + r.IntN(6) {
				b = append(b, string(chinese[r.IntN(len(chinese))])...)
			}
			return b[:min(len(b), most)]
		}
	case 4: // any bytes
		n := 1 + r.IntN(300)
		return func() []byte { return sized(1+r.IntN(n), func() byte { return byte(r.Uint32()) }) }
	case 5: // long, with much in common
		n := pick(r, 127, 128, 129, 1000, 5000, 32767)
		long := sized(n, func() byte { return byte(r.Uint32()) })
		return func() []byte {
			if len(long) == 0 {
				return nil
			}
			b := bytes.Clone(long[:1+r.IntN(len(long))])
			if r.one(2) {
				b[r.IntN(len(b))] ^= byte(r.Uint32())
			}
			return b
		}
	default: // fixed length, like salted keys
		n := 1 + r.IntN(65)
		return func() []byte { return sized(n, func() byte { return "0123456789abcdef"[r.IntN(16)] }) }
	}
}

func (r *random) values() func() []byte {
	any := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	kinds := 1 + r.IntN(4)
	few := [][]byte{{}, []byte("same"), []byte("拒绝"), any(127), any(128), any(300)}
	return func() []byte {
		switch r.IntN(kinds) {
		case 0:
			return few[r.IntN(len(few))]
		case 1:
			return nil
		case 2:
			return any(r.IntN(50))
		}
		return bytes.Repeat([]byte("repeated text "), r.IntN(20))
	}
}

// tags returns one or more tags: a time to live, or any.
func (r *random) tags() []byte {
	var b []byte
	for range 1 + r.IntN(3) {
		if r.one(2) {
			b = append(b, 0, 9, 8) // TagType.TTL_TAG_TYPE, eight bytes of milliseconds
			b = binary.BigEndian.AppendUint64(b, uint64(r.IntN(1e9)))
			continue
		}
		n := pick(r, 0, 1, 5, 200, 20000)
		if len(b)+n+3 > hfile.MaxTagsLen {
			continue
		}
		b = binary.BigEndian.AppendUint16(b, uint16(n+1))
		b = append(b, byte(64+r.IntN(64)))
		b = append(b, make([]byte, n)...)
	}
	return b
}

func (r *random) cells(o hfile.Options) []hfile.Cell {
	n := pick(r, 1, 2, 5, 30, 100, 300, 1000)
	rows, qualifiers := r.bytesLike(hfile.MaxRowLen), r.bytesLike(2000)
	if r.one(3) {
		more := r.bytesLike(300)
		first := rows
		rows = func() []byte {
			if r.one(2) {
				return more()
			}
			return first()
		}
	}
	values := r.values()
	family := make([]byte, pick(r, 1, 1, 2, 5, 127))
	for i := range family {
		family[i] = byte('a' + r.IntN(26))
	}
	time := pick(r,
		func() int64 { return clock },
		func() int64 { return clock - int64(r.IntN(3)) },
		func() int64 { return int64(r.IntN(300)) },
		func() int64 { return r.Int64() >> (1 + r.IntN(62)) },
	)
	deletes, tagged, repeats := pick(r, 0, 0, 3, 20), pick(r, 0, 0, 2, 10), pick(r, 0, 0, 0, 4)
	perRow := pick(r, 1, 3, 18, 100)
	var cells []hfile.Cell
	size := 0
	for len(cells) < n && size < 4<<20 {
		row := rows()
		for range 1 + r.IntN(perRow) {
			c := hfile.Cell{Row: row, Family: family, Qualifier: qualifiers(), Timestamp: time(), Type: hfile.Put, Value: values()}
			if r.one(30) {
				c.Qualifier = nil
			}
			if deletes > 0 && r.one(deletes) {
				c.Type = pick(r, hfile.Delete, hfile.DeleteColumn, hfile.DeleteFamily, hfile.DeleteFamilyVersion)
				if !r.one(3) {
					c.Value = nil
				}
				if c.Type == hfile.DeleteFamily || c.Type == hfile.DeleteFamilyVersion {
					c.Qualifier = nil
				}
			}
			if tagged > 0 && r.one(tagged) {
				c.Tags = r.tags()
			}
			size += len(c.Row) + len(c.Qualifier) + len(c.Value) + len(c.Tags)
			cells = append(cells, c)
			for repeats > 0 && r.one(repeats) && len(cells) < n {
				c.Value = values() // an equal key
				if r.one(3) {
					c.Timestamp = time() // another version
				}
				cells = append(cells, c)
			}
		}
	}
	if r.one(25) {
		big := make([]byte, pick(r, 200_000, 1<<20))
		for i := range big {
			big[i] = byte(r.Uint32()) >> ((i >> 12) & 7)
		}
		cells[r.IntN(len(cells))].Value = big
	}
	slices.SortStableFunc(cells, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
	return cells
}
