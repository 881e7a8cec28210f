package hfile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// CheckResult is the result of [Check]. If the file is too damaged to continue,
// the fields of later checks are zero.
type CheckResult struct {
	OK                   bool     `json:"ok"`                      // whether Errors is empty
	File                 string   `json:"file"`                    // CheckOptions.Name
	Blocks               int      `json:"blocks"`                  // of all types
	DataBlocks           int      `json:"data_blocks"`             // encoded or not
	IndexLevels          int      `json:"index_levels"`            // of the data index, at least 1
	Compression          string   `json:"compression"`             // HBase's name
	Version              string   `json:"version"`                 // major.minor
	BlockTypes           string   `json:"block_types"`             // TYPE=count, sorted, separated by spaces
	Entries              int64    `json:"entries"`                 // cells read
	DuplicateKeys        int64    `json:"duplicate_keys"`          // cells whose key equals the previous cell's
	Bloom                string   `json:"bloom"`                   // HBase's name of the type
	BloomKeys            int64    `json:"bloom_keys,omitempty"`    // number of keys according to the filter
	BloomFalsePositives  *float64 `json:"bloom_fp_rate,omitempty"` // 0 to 1; nil without a filter, for a prefix filter, or without probes
	DeleteFamilyBloom    bool     `json:"delete_family_bloom"`     // whether there is a filter of rows with family delete markers
	Seeks                int      `json:"seeks"`                   // cells sought one by one
	ReaderChecksumErrors int      `json:"reader_checksum_failures"`
	Unsupported          bool     `json:"unsupported,omitempty"` // the file's version or a setting is not supported: the file may be sound
	Errors               []string `json:"errors"`                // problems found, at most ten; never nil
}

// CheckOptions are the options of [Check]. The zero value reads the file once
// and tests its filters with the file's own rows only.
type CheckOptions struct {
	// Name is the file's name in the result. Check does not open it.
	Name string
	// Probes is the number of keys absent from the file that its Bloom filter
	// is queried for, to measure the rate of false positives. With probes, up
	// to a thousand cells are also sought one by one. Default: none.
	Probes int
	// MaxBlock has the meaning of [ReaderOptions].MaxBlock.
	MaxBlock int
}

// maxCheckErrors is the maximum number of errors in a result.
const maxCheckErrors = 10

// Check verifies a file: that scans and seeks of HBase return exactly its
// cells, and that no Bloom filter hides a cell. It recomputes from the cells
// all metadata of the file and compares it with the stored form: block headers
// and checksums, every key of every index level, every bit of both filters, the
// file info and the trailer. Check cannot detect a value that was changed
// before its block's checksum was computed.
//
// It reads the file once, in order. In addition, it reads each index block and each
// filter chunk a second time, ahead of the first data block or row that the block
// covers. It holds one block of each index level, two chunks of a filter and a data
// block in memory, whatever the file claims. size is the size of the whole file.
//
// An error that r returns, such as a canceled context, is listed among the result's
// errors like any other. A caller that must distinguish it from damage needs an r that
// records its errors.
func Check(r io.ReaderAt, size int64, o CheckOptions) CheckResult {
	res := CheckResult{File: o.Name, Errors: []string{}}
	c := &checker{res: &res, probes: o.Probes, rnd: rand.New(rand.NewPCG(42, 0))}
	f, err := Open(r, size, ReaderOptions{MaxBlock: o.MaxBlock})
	if err == nil {
		c.reader = f
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
	reader *Reader
	res    *CheckResult
	walk   blockReader // the file in order
	aside  blockReader // index blocks and filter chunks, read ahead of the walk
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

// prove performs all checks that Check promises. An error that it returns ends
// the check; wrong metadata is only recorded in the result.
func (c *checker) prove() error {
	c.describe()
	c.walk = c.reader.blocks.clone(walkAtOnce)
	c.aside = c.reader.blocks.clone(asideAtOnce)
	if err := c.proveTrailerForm(); err != nil {
		return err
	}
	if err := c.openSection(); err != nil {
		return err
	}
	if err := c.proveInfoForm(); err != nil {
		return err
	}
	c.index.start(c.reader, &c.aside)
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

// clone returns a reader of the same file with its own buffers.
func (b *blockReader) clone(atOnce int) blockReader {
	return blockReader{r: b.r, limit: b.limit, maxBlock: b.maxBlock, atOnce: atOnce,
		comp: decompressor{codec: b.comp.codec, maxBlock: b.comp.maxBlock}}
}

// describe sets the fields of the result that are known without the cells.
func (c *checker) describe() {
	t := &c.reader.trailer
	c.res.IndexLevels = int(t.levels)
	c.res.Compression = t.compression.String()
	c.res.Version = fmt.Sprintf("%d.%d", t.major, t.minor)
	c.res.Bloom = BloomNone.String()
	if c.reader.bloom != nil {
		c.res.Bloom, c.res.BloomKeys = c.reader.bloom.kind.String(), c.reader.bloom.keys
	}
}

// describeLayout sets the fields of the result that the walk counts.
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
