package hfile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// CheckResult is the result of [Check]. Where the file is too damaged to continue,
// what comes later in it is zero.
type CheckResult struct {
	OK                   bool     `json:"ok"`                      // there are no Errors
	File                 string   `json:"file"`                    // CheckOptions.Name
	Blocks               int      `json:"blocks"`                  // of all types
	DataBlocks           int      `json:"data_blocks"`             // encoded or not
	IndexLevels          int      `json:"index_levels"`            // of the data index, at least 1
	Compression          string   `json:"compression"`             // HBase's name
	Version              string   `json:"version"`                 // major.minor
	BlockTypes           string   `json:"block_types"`             // TYPE=count, sorted, with spaces between
	Entries              int64    `json:"entries"`                 // cells that were read
	DuplicateKeys        int64    `json:"duplicate_keys"`          // cells equal in key to the one before
	Bloom                string   `json:"bloom"`                   // HBase's name of the type
	BloomKeys            int64    `json:"bloom_keys,omitempty"`    // that the filter says it has
	BloomFalsePositives  *float64 `json:"bloom_fp_rate,omitempty"` // 0 to 1; nil without a filter, for one of prefixes, or if it was not asked
	DeleteFamilyBloom    bool     `json:"delete_family_bloom"`     // there is a filter of rows with family markers
	Seeks                int      `json:"seeks"`                   // cells that were sought one by one
	ReaderChecksumErrors int      `json:"reader_checksum_failures"`
	Unsupported          bool     `json:"unsupported,omitempty"` // the file is of a version or has settings that are not read: it may be sound
	Errors               []string `json:"errors"`                // what is wrong, at most ten; never nil
}

// CheckOptions say how [Check] goes about it. The zero value reads the file
// once and asks its filters for its own rows only.
type CheckOptions struct {
	// Name is the file's name in the result. Check opens nothing by it.
	Name string
	// Probes is how many keys that are not in the file its Bloom filter is
	// asked for, which gives the result its rate of false positives. With
	// probes, up to a thousand cells are also sought one by one. Default: none.
	Probes int
	// MaxBlock is as in [ReaderOptions].
	MaxBlock int
}

// maxCheckErrors is how many findings a result lists.
const maxCheckErrors = 10

// Check proves a file: that HBase reads just the cells that are in it, by
// scans and by seeks, and that no Bloom filter hides one. Everything that the
// file says of its cells is made again from them and compared: block headers
// and checksums, every key of every index level, every bit of both filters,
// the file info and the trailer. What it cannot know is whether the cells are
// those that were meant: a value that was changed before its block's checksum
// was made is a value.
//
// It reads the file once, in order; in addition, each index block and each
// chunk of a filter a second time, when the first data block or row that it
// holds comes. Its memory is a block of each index level, two of a filter, and
// a data block, whatever the file claims. The size is that of the whole file.
//
// A reader that fails, as by the end of a context, is a finding like any other:
// a caller that must distinguish it from damage keeps the reader's error.
func Check(r io.ReaderAt, size int64, o CheckOptions) CheckResult {
	res := CheckResult{File: o.Name, Errors: []string{}}
	c := &checker{res: &res, probes: o.Probes, rnd: rand.New(rand.NewPCG(42, 0))}
	f, err := Open(r, size, ReaderOptions{MaxBlock: o.MaxBlock})
	if err == nil {
		c.r = f
		err = c.prove()
	}
	if err != nil {
		c.fail(err)
	}
	res.OK = len(res.Errors) == 0
	return res
}

// checker is the state of one Check.
type checker struct {
	r      *Reader
	res    *CheckResult
	walk   blockReader // the file in order
	aside  blockReader // index blocks and filter chunks ahead of it
	index  indexProof
	bloom  *bloomProof // nil without one
	delete *bloomProof // nil without one
	cells  cellProof
	meta   indexEntries // of the meta index
	layout layout
	probes int
	sample sample
	rnd    *rand.Rand
}

func (c *checker) fail(err error) {
	if errors.Is(err, ErrCorrupt) && strings.Contains(err.Error(), "checksum of") {
		c.res.ReaderChecksumErrors++
	}
	c.res.Unsupported = c.res.Unsupported || errors.Is(err, ErrUnsupported)
	c.failf("%v", err)
}

func (c *checker) failf(format string, args ...any) {
	if len(c.res.Errors) < maxCheckErrors {
		c.res.Errors = append(c.res.Errors, fmt.Sprintf(format, args...))
	}
}

// Bytes that a Check fetches at a time: in order, and out of order.
const (
	walkAtOnce  = 1 << 20
	asideAtOnce = 16 << 10
)

// prove does all that Check promises. What it gives ends the check; what the
// file merely says wrongly of itself is in the findings.
func (c *checker) prove() error {
	c.describe()
	c.walk = c.r.blocks.again(walkAtOnce)
	c.aside = c.r.blocks.again(asideAtOnce)
	if err := c.proveTrailerForm(); err != nil {
		return err
	}
	if err := c.openSection(); err != nil {
		return err
	}
	if err := c.proveInfoForm(); err != nil {
		return err
	}
	c.index.start(c.r, &c.aside)
	c.cells.start(c)
	c.layout.start()
	if err := c.walkBlocks(); err != nil {
		return err
	}
	c.res.Entries = c.cells.stats.cells
	c.proveTrailer()
	c.proveInfo()
	if len(c.res.Errors) > 0 {
		return nil
	}
	return c.seeks()
}

// again returns a reader of the same file with buffers of its own.
func (b *blockReader) again(atOnce int) blockReader {
	return blockReader{r: b.r, limit: b.limit, maxBlock: b.maxBlock, atOnce: atOnce,
		comp: decompressor{codec: b.comp.codec, maxBlock: b.comp.maxBlock}}
}

// describe fills what of the result is known without the cells.
func (c *checker) describe() {
	t := &c.r.trailer
	c.res.IndexLevels = t.levels
	c.res.Compression = t.compression.String()
	c.res.Version = fmt.Sprintf("%d.%d", t.major, t.minor)
	c.res.Bloom = BloomNone.String()
	if c.r.bloom != nil {
		c.res.Bloom, c.res.BloomKeys = c.r.bloom.kind.String(), c.r.bloom.keys
	}
}

// describeLayout fills what the walk counts.
func (c *checker) describeLayout() {
	var types []string
	for kind, n := range c.layout.counts {
		if n > 0 {
			types = append(types, fmt.Sprintf("%s=%d", blockKinds[kind].name, n))
			c.res.Blocks += n
		}
	}
	slices.Sort(types)
	c.res.BlockTypes = strings.Join(types, " ")
	c.res.DataBlocks = c.layout.counts[kindData] + c.layout.counts[kindEncodedData]
	c.res.DeleteFamilyBloom = c.layout.counts[kindDeleteBloomMeta] > 0
}
