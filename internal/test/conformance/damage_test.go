package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/pkg/hfile"
)

// damagedFile returns a file with everything that can be damaged: four index levels or more, both filters in several
// chunks, tags, markers of every type.
func damagedFile(t testing.TB, o hfile.Options) []byte {
	t.Helper()
	o.CreateTime, o.BulkloadTime, o.Zstd = clock, clock, hfile.ZstdBlocks
	o.BlockSize, o.IndexBlockSize, o.IndexMinEntries = 150, 200, 4
	o.BloomBlockSize = 128
	c := &testCase{o: o}
	for row := range 230 {
		key := fmt.Appendf(nil, "row%05d", row*7)
		for q := range 3 {
			cell := hfile.Cell{Row: key, Family: []byte("f"), Qualifier: fmt.Appendf(nil, "q%d", q), Timestamp: clock, Type: hfile.Put, Value: fmt.Appendf(nil, "value %d %d", row, q)}
			if row%9 == 0 {
				cell.Tags = []byte{0, 3, 70, 1, 2}
			}
			if row%2 == 0 && q == 0 {
				cell.Type, cell.Qualifier, cell.Value = hfile.DeleteFamily, nil, nil
			}
			c.cells = append(c.cells, cell)
		}
	}
	file, err := c.write()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func checkBytes(file []byte) hfile.CheckResult {
	return hfile.Check(bytes.NewReader(file), int64(len(file)), hfile.CheckOptions{})
}

// put32 and put64 change a number at a position of a payload.
func put32(p *part, at int, v uint32) { binary.BigEndian.PutUint32(p.payload[at:], v) }
func put64(p *part, at int, v uint64) { binary.BigEndian.PutUint64(p.payload[at:], v) }
func get32(p *part, at int) uint32    { return binary.BigEndian.Uint32(p.payload[at:]) }
func get64(p *part, at int) uint64    { return binary.BigEndian.Uint64(p.payload[at:]) }

// The parts of a filter's metadata, by offset.
const (
	bloomVersionAt = 0
	bloomBytesAt   = 4
	bloomHashesAt  = 12
	bloomHashAt    = 16
	bloomKeysAt    = 20
	bloomMaxKeysAt = 28
	bloomChunksAt  = 36
)

// nth returns a block with a magic, counted from the end if n is negative.
func (a *anatomy) nth(magic string, i int) *part {
	found := a.find(magic)
	if i < 0 {
		i += len(found)
	}
	return found[i]
}

// moveKey raises or lowers the last byte of the row of an index key, so that
// the key moves past its block's first cell, or before the last cell of the
// block before.
func moveKey(e entry, by int) {
	n := int(binary.BigEndian.Uint16(e.key))
	e.key[1+n] = byte(int(e.key[1+n]) + by)
}

// swapKeys exchanges the keys of two entries of one length.
func swapKeys(e []entry, i, j int) {
	a, b := bytes.Clone(e[i].key), bytes.Clone(e[j].key)
	copy(e[i].key, b)
	copy(e[j].key, a)
}

// infoSet changes the value of a pair of the file info; nil removes the pair.
func infoSet(key string, change func(v []byte) []byte) func(a *anatomy) {
	return func(a *anatomy) {
		pairs := a.info()
		i := slices.IndexFunc(pairs, func(p pair) bool { return p.key == key })
		if pairs[i].value = change(pairs[i].value); pairs[i].value == nil {
			pairs = slices.Delete(pairs, i, i+1)
		}
		a.setInfo(pairs)
	}
}

func lastByte(v []byte) []byte {
	v[len(v)-1]++
	return v
}

func becomes(text string) func([]byte) []byte { return func([]byte) []byte { return []byte(text) } }

func remove([]byte) []byte { return nil }

// A damage is one error in a file.
type damage struct {
	name   string
	bloom  hfile.BloomType
	plain  bool // for a file without compression or encoding
	damage func(a *anatomy)
}

// file returns a damaged file whose checksums are right.
func (d damage) file(t testing.TB) []byte {
	t.Helper()
	o := hfile.Options{Bloom: hfile.BloomRow, Encoding: hfile.EncodingFastDiff, Compression: hfile.CompressionSnappy}
	if d.bloom != hfile.BloomNone {
		o.Bloom = d.bloom
	}
	if d.plain {
		o.Encoding, o.Compression = hfile.EncodingNone, hfile.CompressionNone
	}
	a, err := dissect(damagedFile(t, o))
	if err != nil {
		t.Fatal(err)
	}
	d.damage(a)
	damaged, err := a.assemble()
	if err != nil {
		t.Fatal(err)
	}
	return damaged
}

// damages are the ways in which a file with correct checksums can have wrong contents, by the damaged part.
var damages = []damage{
	{name: "root index key past its block", damage: func(a *anatomy) { moveKey(a.entries(a.nth("IDXROOT2", 0))[1], 1) }},
	{name: "root index key before its block", damage: func(a *anatomy) { moveKey(a.entries(a.nth("IDXROOT2", 0))[1], -1) }},
	{name: "root index key of the first block", damage: func(a *anatomy) { moveKey(a.entries(a.nth("IDXROOT2", 0))[0], -1) }},
	{name: "root index key's type", damage: func(a *anatomy) {
		k := a.entries(a.nth("IDXROOT2", 0))[1].key
		k[len(k)-1] = 0
	}},
	{name: "root index keys exchanged", damage: func(a *anatomy) { swapKeys(a.entries(a.nth("IDXROOT2", 0)), 0, 1) }},
	{name: "root index offset", damage: func(a *anatomy) {
		e := a.entries(a.nth("IDXROOT2", 0))
		copy(e[0].place, bytes.Clone(e[1].place))
	}},
	{name: "root index size", damage: func(a *anatomy) { a.entries(a.nth("IDXROOT2", 0))[0].place[11]++ }},
	{name: "intermediate index key", damage: func(a *anatomy) { moveKey(a.entries(a.nth("IDXINTE2", 0))[1], 1) }},
	{name: "intermediate index's first key", damage: func(a *anatomy) { moveKey(a.entries(a.nth("IDXINTE2", -1))[0], 1) }},
	{name: "intermediate index size", damage: func(a *anatomy) { a.entries(a.nth("IDXINTE2", 0))[1].place[11]++ }},
	{name: "leaf index key past its block", damage: func(a *anatomy) { moveKey(a.entries(a.nth("IDXLEAF2", 1))[1], 1) }},
	{name: "leaf index key before its block", damage: func(a *anatomy) { moveKey(a.entries(a.nth("IDXLEAF2", 1))[1], -1) }},
	{name: "leaf index size", damage: func(a *anatomy) { a.entries(a.nth("IDXLEAF2", 0))[0].place[11]-- }},
	{name: "leaf index count", damage: func(a *anatomy) { p := a.nth("IDXLEAF2", 0); put32(p, 0, get32(p, 0)-1) }},
	{name: "leaf index position", damage: func(a *anatomy) { p := a.nth("IDXLEAF2", 0); put32(p, 8, get32(p, 8)+1) }},
	{name: "mid key's entry", damage: func(a *anatomy) {
		p := a.nth("IDXROOT2", 0)
		put32(p, len(p.payload)-4, get32(p, len(p.payload)-4)^1)
	}},
	{name: "mid key's leaf", damage: func(a *anatomy) {
		p := a.nth("IDXROOT2", 0)
		put64(p, len(p.payload)-16, uint64(a.nth("IDXLEAF2", 0).old))
		put32(p, len(p.payload)-8, uint32(a.nth("IDXLEAF2", 0).oldSize))
	}},
	{name: "meta index count", damage: func(a *anatomy) { a.set(6, 1) }},
	{name: "general bloom: a bit is gone", damage: func(a *anatomy) { clearBit(a, "BLMFMET2", 0) }},
	{name: "general bloom: a bit too many", damage: func(a *anatomy) { setBit(a, "BLMFMET2", 1) }},
	{name: "general bloom: chunks exchanged", damage: func(a *anatomy) { swapChunks(a, "BLMFMET2") }},
	{name: "general bloom: version", damage: func(a *anatomy) { put32(a.nth("BLMFMET2", 0), bloomVersionAt, 2) }},
	{name: "general bloom: byte size", damage: func(a *anatomy) { bump(a.nth("BLMFMET2", 0), bloomBytesAt) }},
	{name: "general bloom: hash count", damage: func(a *anatomy) { p := a.nth("BLMFMET2", 0); put32(p, bloomHashesAt, get32(p, bloomHashesAt)+1) }},
	{name: "general bloom: hash type", damage: func(a *anatomy) { put32(a.nth("BLMFMET2", 0), bloomHashAt, 0) }},
	{name: "general bloom: key count", damage: func(a *anatomy) { bump(a.nth("BLMFMET2", 0), bloomKeysAt) }},
	{name: "general bloom: key limit", damage: func(a *anatomy) { bump(a.nth("BLMFMET2", 0), bloomMaxKeysAt) }},
	{name: "general bloom: chunk count", damage: func(a *anatomy) { p := a.nth("BLMFMET2", 0); put32(p, bloomChunksAt, get32(p, bloomChunksAt)-1) }},
	{name: "general bloom: a chunk's key", damage: func(a *anatomy) { k := a.entries(a.nth("BLMFMET2", 0))[1].key; k[len(k)-1]++ }},
	{name: "general bloom: a chunk's offset", damage: func(a *anatomy) {
		e := a.entries(a.nth("BLMFMET2", 0))
		copy(e[0].place, bytes.Clone(e[1].place))
	}},
	{name: "general bloom: comparator", damage: func(a *anatomy) {
		p := a.nth("BLMFMET2", 0)
		name := "org.apache.hadoop.hbase.CellComparatorImpl"
		p.payload = slices.Concat(p.payload[:40], []byte{byte(len(name))}, []byte(name), p.payload[41:])
	}},
	{name: "row-column bloom: a bit is gone", bloom: hfile.BloomRowCol, damage: func(a *anatomy) { clearBit(a, "BLMFMET2", 2) }},
	{name: "row-column bloom: a chunk's key", bloom: hfile.BloomRowCol, damage: func(a *anatomy) { a.entries(a.nth("BLMFMET2", 0))[1].key[9]++ }},
	{name: "row-column bloom: no comparator", bloom: hfile.BloomRowCol, damage: func(a *anatomy) {
		p := a.nth("BLMFMET2", 0)
		p.payload = slices.Concat(p.payload[:40], []byte{0}, p.payload[41+int(p.payload[40]):])
	}},
	{name: "row-column bloom: last key", bloom: hfile.BloomRowCol, damage: infoSet("LAST_BLOOM_KEY", func(v []byte) []byte { v[2]--; return v })},
	{name: "delete-family bloom: a bit is gone", damage: func(a *anatomy) { clearBit(a, "DFBLMET2", 0) }},
	{name: "delete-family bloom: all bits are gone", damage: func(a *anatomy) {
		for _, p := range chunksOf(a, "DFBLMET2") {
			clear(p.payload)
		}
	}},
	{name: "delete-family bloom: hash type", damage: func(a *anatomy) { put32(a.nth("DFBLMET2", 0), bloomHashAt, 2) }},
	{name: "delete-family bloom: hash count", damage: func(a *anatomy) { p := a.nth("DFBLMET2", 0); put32(p, bloomHashesAt, get32(p, bloomHashesAt)+1) }},
	{name: "delete-family bloom: key count", damage: func(a *anatomy) { bump(a.nth("DFBLMET2", 0), bloomKeysAt) }},
	{name: "delete-family bloom: a chunk's key", damage: func(a *anatomy) { k := a.entries(a.nth("DFBLMET2", 0))[1].key; k[len(k)-1]++ }},
	{name: "delete-family bloom: chunks of the other filter", damage: func(a *anatomy) {
		e, g := a.entries(a.nth("DFBLMET2", 0)), a.entries(a.nth("BLMFMET2", 0))
		copy(e[0].place, bytes.Clone(g[0].place))
	}},
	{name: "delete-family bloom is gone", damage: func(a *anatomy) { a.parts = a.parts[:len(a.parts)-1] }},
	{name: "delete-family count is 0", damage: infoSet("DELETE_FAMILY_COUNT", func(v []byte) []byte { return make([]byte, 8) })},
	{name: "delete-family count", damage: infoSet("DELETE_FAMILY_COUNT", lastByte)},
	{name: "last key of the general bloom", damage: infoSet("LAST_BLOOM_KEY", becomes("row00001"))},
	{name: "bloom type NONE with a filter", damage: infoSet("BLOOM_FILTER_TYPE", becomes("NONE"))},
	{name: "bloom type in lower case", damage: infoSet("BLOOM_FILTER_TYPE", becomes("row"))},
	{name: "bloom type of the other kind", damage: infoSet("BLOOM_FILTER_TYPE", becomes("ROWCOL"))},
	{name: "no bloom type", damage: infoSet("BLOOM_FILTER_TYPE", remove)},
	{name: "entry count in the trailer", damage: func(a *anatomy) { a.set(7, a.number(7)+1) }},
	{name: "entry count 0 in the trailer", damage: func(a *anatomy) { a.set(7, 0) }},
	{name: "first data block", damage: func(a *anatomy) { a.set(9, uint64(a.nth("data", 1).old)) }},
	{name: "last data block", damage: func(a *anatomy) { a.set(10, uint64(a.nth("data", -2).old)) }},
	{name: "index levels", damage: func(a *anatomy) { a.set(8, a.number(8)-1) }},
	{name: "root index entries", damage: func(a *anatomy) { a.set(5, a.number(5)-1) }},
	{name: "uncompressed bytes", damage: func(a *anatomy) { a.set(4, a.number(4)+1) }},
	{name: "uncompressed index bytes", damage: func(a *anatomy) { a.set(3, a.number(3)+1) }},
	{name: "comparator of the trailer", damage: func(a *anatomy) { trailerBytes(a, 11, "org.apache.hadoop.hbase.MetaCellComparator") }},
	{name: "comparator that is not a class", damage: func(a *anatomy) { trailerBytes(a, 11, "org.apache.hadoop.hbase.NoComparator") }},
	{name: "an encryption key", damage: func(a *anatomy) { a.trailer = append(a.trailer, field{number: 13, bytes: []byte("key")}) }},
	{name: "minor version", damage: func(a *anatomy) { a.version = 4<<24 | 3 }},
	{name: "last key", damage: infoSet("hfile.LASTKEY", func(v []byte) []byte { v[5]--; return v })},
	{name: "no last key", damage: infoSet("hfile.LASTKEY", remove)},
	{name: "average key length is gone", damage: infoSet("hfile.AVG_KEY_LEN", remove)},
	{name: "average value length", damage: infoSet("hfile.AVG_VALUE_LEN", lastByte)},
	{name: "length of the longest tags", damage: infoSet("hfile.MAX_TAGS_LEN", lastByte)},
	{name: "tags are compressed", damage: infoSet("hfile.TAGS_COMPRESSED", becomes("\xff"))},
	{name: "tags' flag of two bytes", damage: infoSet("hfile.TAGS_COMPRESSED", becomes("\x00\x00"))},
	{name: "version of the cells' form", damage: infoSet("KEY_VALUE_VERSION", lastByte)},
	{name: "greatest sequence id", damage: infoSet("MAX_MEMSTORE_TS_KEY", lastByte)},
	{name: "greatest sequence id is gone", damage: infoSet("MAX_MEMSTORE_TS_KEY", remove)},
	{name: "creation time of seven bytes", damage: infoSet("hfile.CREATE_TIME_TS", func(v []byte) []byte { return v[1:] })},
	{name: "time range", damage: infoSet("TIMERANGE", func(v []byte) []byte { v[15]--; return v })},
	{name: "earliest put", damage: infoSet("EARLIEST_PUT_TS", lastByte)},
	{name: "length of the biggest cell is gone", damage: infoSet("hfile.LEN_OF_BIGGEST_CELL", remove)},
	{name: "encoding in lower case", damage: infoSet("DATA_BLOCK_ENCODING", becomes("fast_diff"))},
	{name: "another encoding", damage: infoSet("DATA_BLOCK_ENCODING", becomes("DIFF"))},
	{name: "major compaction flag of no byte", damage: infoSet("MAJOR_COMPACTION_KEY", becomes(""))},
	{name: "a historical file", damage: infoSet("HISTORICAL", becomes("\xff"))},
	{name: "a bulk load's time of four bytes", damage: infoSet("BULKLOAD_TIMESTAMP", func(v []byte) []byte { return v[4:] })},
	{name: "a key of the file info twice", damage: func(a *anatomy) { pairs := a.info(); a.setInfo(append(pairs, pairs[0])) }},
	{name: "previous data block", damage: func(a *anatomy) { a.nth("data", 3).prev = a.nth("data", 1).old }},
	{name: "previous leaf", damage: func(a *anatomy) { a.nth("IDXLEAF2", 2).prev = -1 }},
	{name: "checksum type of a block", damage: func(a *anatomy) { a.nth("data", 2).sum = 1 }},
	{name: "no checksums in a block", damage: func(a *anatomy) { a.nth("data", 2).sum = 0 }},
	{name: "bytes per checksum of a block", damage: func(a *anatomy) { a.nth("data", 2).perSum = 64 }},
	{name: "data blocks exchanged", damage: func(a *anatomy) {
		p, q := a.nth("data", 1), a.nth("data", 2)
		p.payload, q.payload = q.payload, p.payload
	}},
	{name: "a data block twice", plain: true, damage: func(a *anatomy) { a.nth("data", 2).payload = a.nth("data", 1).payload }},
	{name: "size of a block's cells", damage: func(a *anatomy) { p := a.nth("data", 1); put32(p, 2, get32(p, 2)+1) }},
	{name: "flags of a block's first cell", damage: func(a *anatomy) { a.nth("data", 1).payload[6] = 8 }},
	{name: "a shared prefix that ends in the family", damage: func(a *anatomy) { p := a.nth("data", 0); p.payload[sharedAt(p)]-- }},
	{name: "a shared prefix that is shorter", damage: func(a *anatomy) { p := a.nth("data", 0); p.payload[sharedAt(p)] = 0 }},
	{name: "name of a key of the file info", damage: func(a *anatomy) {
		pairs := a.info()
		i := slices.IndexFunc(pairs, func(p pair) bool { return p.key == "MAJOR_COMPACTION_KEY" })
		pairs[i].key = "MAJOR_COMPACTION_KEX"
		a.setInfo(pairs)
	}},
	{name: "encoding id of a block", damage: func(a *anatomy) { a.nth("data", 1).payload[1] = 3 }},
	{name: "a cell's type", plain: true, damage: func(a *anatomy) { p := a.nth("data", 0); p.payload[8+get32(p, 0)-1] = 5 }},
	{name: "a cell's timestamp below 0", plain: true, damage: func(a *anatomy) { p := a.nth("data", 0); p.payload[8+get32(p, 0)-9] = 0xff }},
	{name: "a cell's sequence id", plain: true, damage: func(a *anatomy) { p := a.nth("data", 0); p.payload[len(p.payload)-1] = 5 }},
	{name: "a tag's length", plain: true, damage: func(a *anatomy) { a.nth("data", 0).payload[8+get32(a.nth("data", 0), 0)+2+1]++ }},
	{name: "file info behind the filters", damage: func(a *anatomy) {
		n := len(a.parts)
		a.parts[n-3], a.parts[n-2] = a.parts[n-2], a.parts[n-3]
	}},
	{name: "a block behind the last", damage: func(a *anatomy) {
		p := *a.nth("BLMFMET2", 0)
		p.prev, p.old = p.old, a.parts[len(a.parts)-1].old+1<<40
		a.parts = append(a.parts, &p)
	}},
}

// sharedAt returns the position of the number of shared bytes in the second cell of a FAST_DIFF block of the damaged file:
// after its flags and two lengths. The first cell has five bytes of tags.
func sharedAt(p *part) int {
	const first = 6 + 4
	return first + int(p.payload[7]) + int(p.payload[8]) + 1 + 5 + 1 + 3
}

func bump(p *part, at int) { put64(p, at, get64(p, at)+1) }

func trailerBytes(a *anatomy, number int, text string) {
	for i := range a.trailer {
		if a.trailer[i].number == number {
			a.trailer[i].bytes = []byte(text)
		}
	}
}

// chunksOf returns the chunks of the filter whose metadata has the magic.
func chunksOf(a *anatomy, magic string) []*part {
	var chunks []*part
	for _, e := range a.entries(a.nth(magic, 0)) {
		for _, p := range a.parts {
			if p.old == int64(binary.BigEndian.Uint64(e.place)) {
				chunks = append(chunks, p)
			}
		}
	}
	return chunks
}

func clearBit(a *anatomy, magic string, chunk int) {
	b := chunksOf(a, magic)[chunk].payload
	i := slices.IndexFunc(b, func(x byte) bool { return x != 0 })
	b[i] &= b[i] - 1
}

func setBit(a *anatomy, magic string, chunk int) {
	b := chunksOf(a, magic)[chunk].payload
	i := slices.IndexFunc(b, func(x byte) bool { return x != 0xff })
	b[i] |= b[i] + 1
}

func swapChunks(a *anatomy, magic string) {
	c := chunksOf(a, magic)
	c[0].payload, c[1].payload = c[1].payload, c[0].payload
}

// TestDamageBehindChecksums changes one thing in a file, corrects checksums, sizes and offsets, and checks that Check
// refuses the file. HBase's own reader reports what it would have done with each.
func TestDamageBehindChecksums(t *testing.T) {
	var judge *judge
	if !race.Reduced(t) {
		judge = newJudge(t)
	}
	dir := t.TempDir()
	for _, d := range damages {
		t.Run(strings.ReplaceAll(d.name, ":", ""), func(t *testing.T) {
			damaged := d.file(t)
			if res := checkBytes(damaged); res.OK {
				t.Error("the check finds nothing")
			} else {
				t.Logf("check: %s", res.Errors[0])
			}
			if judge != nil {
				t.Logf("HBase: %s", judge.verdict(t, dir, damaged))
			}
		})
	}
}

// TestUndamagedFileIsPutTogetherAgain checks that dissecting and reassembling a file does not damage it.
func TestUndamagedFileIsPutTogetherAgain(t *testing.T) {
	for _, o := range []hfile.Options{
		{Bloom: hfile.BloomRow, Encoding: hfile.EncodingFastDiff, Compression: hfile.CompressionSnappy},
		{Bloom: hfile.BloomRowCol, Encoding: hfile.EncodingRowIndexV1, Compression: hfile.CompressionGZ},
		{},
	} {
		file := damagedFile(t, o)
		a, err := dissect(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range a.parts {
			p.wasIn = nil // compress it again
		}
		again, err := a.assemble()
		if err != nil {
			t.Fatal(err)
		}
		if o.Compression != hfile.CompressionGZ && !bytes.Equal(again, file) {
			t.Errorf("%s: other bytes", o.Compression)
		}
		if res := checkBytes(again); !res.OK {
			t.Errorf("%s: %v", o.Compression, res.Errors)
		}
	}
}

// TestFilterOfManyFalseAnswersIsGood checks that a filter that was built for a tenth of false positives, and has
// them, is not reported as damaged.
func TestFilterOfManyFalseAnswersIsGood(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, bloom := range []hfile.BloomType{hfile.BloomRow, hfile.BloomRowCol} {
		c := &testCase{o: hfile.Options{Bloom: bloom, BloomErrorRate: 0.1, Encoding: hfile.EncodingFastDiff}}
		for i := range 20_000 {
			c.cells = append(c.cells, hfile.Cell{Row: fmt.Appendf(nil, "%08d%d", i, rnd.IntN(1000)), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 1, Type: hfile.Put})
		}
		file, err := c.write()
		if err != nil {
			t.Fatal(err)
		}
		res := hfile.Check(bytes.NewReader(file), int64(len(file)), hfile.CheckOptions{Probes: 20_000})
		if !res.OK || res.BloomFalsePositives == nil || *res.BloomFalsePositives < 0.03 {
			t.Errorf("%s: %v, rate %v", bloom, res.Errors, res.BloomFalsePositives)
		}
	}
}

// TestFiltersOfEveryHash checks that HBase's own files pass with each of HBase's hashes in their filters.
func TestFiltersOfEveryHash(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a JVM")
	}
	java := startHBase(t, zstdModule)
	dir := t.TempDir()
	for _, hash := range []string{"jenkins", "murmur", "murmur3"} {
		for _, bloom := range []hfile.BloomType{hfile.BloomRow, hfile.BloomRowCol} {
			c := randomCase(5, 3)
			c.o.Bloom, c.o.BloomBlockSize, c.o.Compression = bloom, 128, hfile.CompressionNone
			name := filepath.Join(dir, hash+bloom.String())
			in := name + ".cells"
			if err := os.WriteFile(in, c.text(), 0o644); err != nil {
				t.Fatal(err)
			}
			words := append([]string{"write", name}, c.words()...)
			if _, _, err := java.run(in, name+".out", append(words, "-D", "hbase.hash.type="+hash)...); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if res := checkBytes(file); !res.OK || res.BloomKeys == 0 {
				t.Errorf("%s, %s: %+v", hash, bloom, res)
			}
		}
	}
}
