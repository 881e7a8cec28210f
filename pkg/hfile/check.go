package hfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// CheckResult is what [Check] found, in the oracle's terms.
type CheckResult struct {
	OK                   bool     `json:"ok"`
	File                 string   `json:"file"`
	Blocks               int      `json:"blocks"`
	DataBlocks           int      `json:"data_blocks"`
	IndexLevels          int      `json:"index_levels"`
	Compression          string   `json:"compression"`
	Version              string   `json:"version"`
	BlockTypes           string   `json:"block_types"`
	Entries              int64    `json:"entries"`
	DuplicateKeys        int64    `json:"duplicate_keys"`
	Bloom                string   `json:"bloom"`
	BloomKeys            int64    `json:"bloom_keys,omitempty"`
	BloomFalsePositives  *float64 `json:"bloom_fp_rate,omitempty"` // nil without a filter
	DeleteFamilyBloom    bool     `json:"delete_family_bloom"`
	Seeks                int      `json:"seeks"`
	ReaderChecksumErrors int      `json:"reader_checksum_failures"`
	Errors               []string `json:"errors"`
}

// maxCheckErrors is how many findings a result lists.
const maxCheckErrors = 10

// Check reads a whole file and compares what it says of itself with what it
// holds: checksums, block chains, the index tree, order and counts of cells,
// the file info, and whether seeks and the Bloom filter find the cells.
// Probes is how many keys that are not there the filter is asked for.
func Check(name string, r io.ReaderAt, size int64, probes int, o ReaderOptions) CheckResult {
	res := CheckResult{File: name, Errors: []string{}}
	c := &checker{res: &res}
	f, err := Open(r, size, o)
	if err != nil {
		c.fail(err)
	} else {
		c.r = f
		c.layout()
		c.cells()
		c.lookups(probes)
	}
	res.OK = len(res.Errors) == 0
	return res
}

type checker struct {
	r      *Reader
	res    *CheckResult
	data   []placed
	sample []sampled // uniform, distinct keys
	rnd    *rand.Rand
}

func (c *checker) fail(err error) {
	if errors.Is(err, ErrCorrupt) && strings.Contains(err.Error(), "checksum of") {
		c.res.ReaderChecksumErrors++
	}
	c.failf("%v", err)
}

func (c *checker) failf(format string, args ...any) {
	if len(c.res.Errors) < maxCheckErrors {
		c.res.Errors = append(c.res.Errors, fmt.Sprintf(format, args...))
	}
}

// layout walks the blocks from the file's start to its trailer.
func (c *checker) layout() {
	t := &c.r.trailer
	counts := map[string]int{}
	last := map[string]int64{}
	var entries indexEntries
	for off := int64(0); off < c.r.blocks.limit; {
		blk, err := c.r.blocks.read(off)
		if err != nil {
			c.fail(err)
			return
		}
		if prev, ok := last[blk.Type]; !ok && blk.Prev != -1 || ok && blk.Prev != prev {
			c.failf("prev offset at %d", off)
		}
		last[blk.Type] = off
		counts[blk.Type]++
		c.res.Blocks++
		switch blk.kind {
		case kindData, kindEncodedData:
			c.data = append(c.data, placed{off, int32(headerSize + blk.OnDisk)})
		case kindLeafIndex:
			if err := entries.readNonRoot(blk.Payload); err != nil {
				c.fail(err)
			}
		case kindDeleteBloomMeta:
			c.res.DeleteFamilyBloom = true
		}
		off = blk.end()
	}
	if t.levels == 1 {
		entries = c.r.root
	}
	if !slices.Equal(entries.places, c.data) {
		c.failf("%d index entries do not match %d data blocks", entries.len(), len(c.data))
	}
	var types []string
	for name, n := range counts {
		types = append(types, fmt.Sprintf("%s=%d", name, n))
	}
	slices.Sort(types)
	c.res.BlockTypes = strings.Join(types, " ")
	c.res.DataBlocks, c.res.IndexLevels = len(c.data), t.levels
	c.res.Compression = t.compression.String()
	c.res.Version = fmt.Sprintf("%d.%d", t.major, t.minor)
}

// checkSample is how many cells are sought one by one.
const checkSample = 1000

// cells scans the file and compares the file info with it.
func (c *checker) cells() {
	c.rnd = rand.New(rand.NewPCG(42, 0))
	info := newFileStats()
	var prev, cur flat
	var first []byte
	started := false
	distinct := 0
	s := c.r.Scan()
	for s.Next() {
		cell := s.Cell()
		cur.setKey(cell.Row, cell.Family, cell.Qualifier, cell.Timestamp, cell.Type)
		cur.value, cur.tags = cell.Value, cell.Tags
		order := -1
		if started {
			if order = compareFlat(&prev, &cur); order > 0 {
				c.failf("key order broken at entry %d", info.cells)
			} else if order == 0 {
				c.res.DuplicateKeys++
			}
			if !bytes.Equal(prev.family(), cur.family()) {
				c.failf("family changes at entry %d", info.cells)
			}
		} else {
			first = bytes.Clone(cur.key)
		}
		if t := cell.Type; t == DeleteFamily || t == DeleteFamilyVersion {
			info.deleteFamily++
		}
		info.add(&cur)
		if order != 0 {
			if distinct++; len(c.sample) < checkSample {
				c.sample = append(c.sample, sampleOf(cell))
			} else if i := c.rnd.IntN(distinct); i < checkSample {
				c.sample[i] = sampleOf(cell)
			}
		}
		prev, cur = cur, prev
		started = true
	}
	if err := s.Err(); err != nil {
		c.fail(err)
		return
	}
	c.res.Entries = info.cells
	if info.cells == 0 {
		return
	}
	if c.r.root.len() == 0 || !bytes.Equal(c.r.root.key(0), first) {
		c.failf("first key differs")
	}
	if !bytes.Equal(c.r.info[infoLastKey], prev.key) {
		c.failf("last key differs")
	}
	if key, err := c.r.MidKey(); err != nil || key == nil {
		c.failf("no mid key: %v", err)
	}
	c.compareInfo(&info)
}

// compareInfo holds the entries of the file info against the cells. Only the
// averages must be there.
func (c *checker) compareInfo(s *fileStats) {
	i64 := func(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
	i32 := func(v int64) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
	for _, e := range []struct {
		key    string
		want   []byte
		needed bool
	}{
		{infoAvgKeyLen, i32(s.keyBytes / s.cells), true}, {infoAvgValueLen, i32(s.valueBytes / s.cells), true},
		{infoBiggestLen, i64(s.biggest), false}, {infoBiggestKey, s.biggestKey, false}, {infoDeleteCount, i64(s.deleteFamily), false},
		{infoEarliestPut, i64(s.earliestPut), false}, {infoTimeRange, append(i64(s.minTime), i64(s.maxTime)...), false},
	} {
		got, ok := c.r.info[e.key]
		if e.key == infoTimeRange {
			got = plainTimeRange(got)
		}
		if !ok && e.needed {
			c.failf("%s is missing", e.key)
		} else if ok && !bytes.Equal(got, e.want) {
			c.failf("%s is %x, cells say %x", e.key, got, e.want)
		}
	}
}

// plainTimeRange is the first and the last time as two i64, from any form that
// a version writes: 1.4 has zeros behind them, and a protobuf is read too
// (TimeRangeTracker, 1.4.14 and 2.6.4). Other bytes are given back.
func plainTimeRange(v []byte) []byte {
	if len(v) != 16 && bytes.HasPrefix(v, []byte("PBUF")) {
		dst := make([]byte, 16)
		err := protoFields(v[4:], func(number int, v uint64, _ []byte) {
			if number == 1 || number == 2 {
				binary.BigEndian.PutUint64(dst[8*(number-1):], v)
			}
		})
		if err == nil {
			return dst
		}
	}
	if len(v) == 32 && len(bytes.Trim(v[16:], "\x00")) == 0 {
		return v[:16]
	}
	return v
}

// lookups seeks to sampled rows and asks the Bloom filter for them and for
// rows that are not there.
func (c *checker) lookups(probes int) {
	c.res.Bloom = BloomNone.String()
	if c.r.bloom != nil {
		c.res.Bloom, c.res.BloomKeys = c.r.bloom.kind.String(), c.r.bloom.keys
	}
	for i := range c.sample {
		cell := &c.sample[i].key
		ok, err := c.r.MayContain(cell.Row, cell.Qualifier)
		if err != nil {
			c.fail(err)
			return
		}
		if !ok {
			c.failf("bloom false negative for a row of %d bytes", len(cell.Row))
		}
		if err := c.seek(&c.sample[i]); err != nil {
			c.fail(err)
			return
		}
		c.res.Seeks++
	}
	if c.r.bloom == nil || !c.r.bloom.murmur || len(c.sample) == 0 || probes == 0 {
		return
	}
	positives := 0
	for range probes {
		base := &c.sample[c.rnd.IntN(len(c.sample))].key
		row := slices.Clone(base.Row[:min(len(base.Row), 30000)])
		for range 12 {
			row = append(row, byte(c.rnd.UintN(256)))
		}
		ok, err := c.r.MayContain(row, base.Qualifier)
		if err != nil {
			c.fail(err)
			return
		}
		if ok {
			positives++
		}
	}
	rate := math.Round(float64(positives)/float64(probes)*1e6) / 1e6
	c.res.BloomFalsePositives = &rate
	// A filter of a few keys is folded to a few bytes, where the rate is luck.
	if c.r.bloom.keys >= 1000 && c.r.bloom.kind != BloomRowPrefix && rate > 0.03 {
		c.failf("bloom false-positive rate %g", rate)
	}
}

// seek finds a sampled cell again from the start of its row.
func (c *checker) seek(want *sampled) error {
	s := c.r.SeekRow(want.key.Row)
	for s.Next() {
		order := Compare(s.Cell(), &want.key)
		if order == 0 && sha256.Sum256(s.Cell().Value) == want.value {
			return nil
		}
		if order > 0 {
			break
		}
	}
	if s.Err() == nil {
		c.failf("seek to a row of %d bytes does not find its cell", len(want.key.Row))
	}
	return s.Err()
}

// sampled is a cell to be found again. Values may be large, so only a hash is kept.
type sampled struct {
	key   Cell // without value and tags
	value [sha256.Size]byte
}

func sampleOf(c *Cell) sampled {
	return sampled{
		key:   Cell{Row: bytes.Clone(c.Row), Family: bytes.Clone(c.Family), Qualifier: bytes.Clone(c.Qualifier), Timestamp: c.Timestamp, Type: c.Type},
		value: sha256.Sum256(c.Value),
	}
}
