package hfile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ErrUnsupported is wrapped by every error about a setting of HBase that this
// package does not support: a codec, an encoding, encryption.
var ErrUnsupported = errors.New("not supported")

// Encoding is the data block encoding of a file.
type Encoding uint8

// Data block encodings (DataBlockEncoding, 2.6.4).
const (
	EncodingNone Encoding = iota
	EncodingPrefix
	EncodingDiff
	EncodingFastDiff
	EncodingRowIndexV1
)

var encodingNames = [...]string{"NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"}
var encodingIDs = [...]uint16{0, 2, 3, 4, 7}

// String returns HBase's name of the encoding.
func (e Encoding) String() string { return nameOf(encodingNames[:], e) }

// ParseEncoding returns the encoding with HBase's name s, ignoring case. An empty name
// means NONE.
func ParseEncoding(s string) (Encoding, error) {
	return find[Encoding](encodingNames[:], s, "data block encoding")
}

// BloomType is the type of a file's Bloom filter.
type BloomType uint8

// Bloom filter types (regionserver.BloomType, 2.6.4).
const (
	BloomNone BloomType = iota
	BloomRow
	BloomRowCol
	BloomRowPrefix // ROWPREFIX_FIXED_LENGTH: the first Options.BloomPrefix bytes of the row
)

var bloomNames = [...]string{"NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"}

// String returns HBase's name of the type.
func (b BloomType) String() string { return nameOf(bloomNames[:], b) }

// ParseBloomType returns the type with HBase's name s, ignoring case. An empty name means
// NONE.
func ParseBloomType(s string) (BloomType, error) {
	return find[BloomType](bloomNames[:], s, "bloom type")
}

// ChecksumType is the type of a block's checksums.
type ChecksumType uint8

// Checksum types (ChecksumType, 2.6.4); CRC32C is HBase's default.
const (
	ChecksumCRC32C ChecksumType = iota
	ChecksumCRC32
	ChecksumNone
)

var checksumNames = [...]string{"CRC32C", "CRC32", "NULL"}
var checksumIDs = [...]byte{2, 1, 0}

// String returns HBase's name of the type.
func (c ChecksumType) String() string { return nameOf(checksumNames[:], c) }

// ParseChecksumType returns the type with HBase's name s, or NONE for no checksums,
// ignoring case. An empty name means CRC32C.
func ParseChecksumType(s string) (ChecksumType, error) {
	if strings.EqualFold(s, "NONE") {
		return ChecksumNone, nil
	}
	return find[ChecksumType](checksumNames[:], s, "checksum type")
}

// Options are the settings of a file to write. The zero value selects no
// encoding, no compression and no Bloom filter, and HBase's defaults elsewhere.
type Options struct {
	Family      []byte // the column family of every cell; AppendRow requires it; if it is empty, Append takes it from the first cell
	Compression Compression
	Level       Level       // of the compression, default LevelDefault
	Zstd        ZstdFraming // for CompressionZSTD, default ZstdPlain
	Encoding    Encoding
	Bloom       BloomType
	BloomPrefix int // bytes of the row for BloomRowPrefix, above 0; otherwise ignored

	BlockSize        int          // bytes of unencoded cells after which a data block ends, at most MaxBlockSize, default 65536
	Checksum         ChecksumType // default CRC32C
	BytesPerChecksum int          // bytes that one checksum covers, default 16384 (hbase.hstore.bytes.per.checksum)
	EncodedRatio     float64      // of BlockSize, hbase.writer.unified.encoded.blocksize.ratio, default 0: the unencoded size ends a block

	IndexBlockSize  int     // bytes of an index block, default 131072 (hfile.index.block.max.size)
	IndexMinEntries int     // minimum number of entries in an index block, at least 2, default 16 (hfile.index.block.min.entries)
	BloomBlockSize  int     // bytes of a Bloom chunk, below 256 MiB, default 131072 (io.storefile.bloom.block.size)
	BloomErrorRate  float32 // rate of false positives, above 0, at most about 0.6, default 0.01 (io.storefile.bloom.error.rate)
	// IndexMemory is the maximum number of bytes of the root index, which a writer holds until the file ends. One that passes it fails with
	// [ErrIndexMemory]. Only long keys that share their beginnings make it large. Default: no limit. Readers ignore it.
	IndexMemory int64

	CreateTime   int64  // milliseconds since 1970, hfile.CREATE_TIME_TS
	BulkloadTime int64  // milliseconds since 1970, BULKLOAD_TIMESTAMP
	Task         string // BULKLOAD_SOURCE_TASK, default "attempt_200001010000_0001_r_000000_0"
	// ExcludeFromMinorCompaction is the value of the file info entry with that name.
	ExcludeFromMinorCompaction bool
	// MobRefs is the value of the file info entry MOB_FILE_REFS: the MOB files that the values of cells copied from another file refer to. HBase
	// deletes MOB files that no store file refers to. Default: no entry.
	MobRefs []byte
}

// MaxBlockSize is the maximum of [Options.BlockSize]: a block's sizes are 32-bit.
const MaxBlockSize = 1 << 30

// maxBloomBlock is the maximum of [Options.BloomBlockSize]: readers number the bits of a chunk, whose size is a multiple of 1<<bloomMaxFold
// bytes, in 31 bits. maxBloomHashes is the maximum number of hash functions that readers here accept.
const (
	maxBloomBlock  = 1<<28 - 1<<bloomMaxFold
	maxBloomHashes = 256
)

func (o Options) withDefaults() Options {
	o.BlockSize = cmp.Or(o.BlockSize, 64<<10)
	o.BytesPerChecksum = cmp.Or(o.BytesPerChecksum, 16<<10)
	o.IndexBlockSize = cmp.Or(o.IndexBlockSize, 128<<10)
	o.IndexMinEntries = cmp.Or(o.IndexMinEntries, 16)
	o.BloomBlockSize = cmp.Or(o.BloomBlockSize, 128<<10)
	o.BloomErrorRate = cmp.Or(o.BloomErrorRate, 0.01)
	o.Task = cmp.Or(o.Task, "attempt_200001010000_0001_r_000000_0")
	return o
}

// Validate returns an error that lists all invalid options.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(int(o.Compression) >= len(codecNames), "unknown compression %d", o.Compression)
	refuse(int(o.Level) >= len(levelNames), "unknown compression level %d", o.Level)
	refuse(o.Zstd > ZstdBlocks, "unknown zstd framing %d", o.Zstd)
	refuse(int(o.Encoding) >= len(encodingNames), "unknown data block encoding %d", o.Encoding)
	refuse(int(o.Bloom) >= len(bloomNames), "unknown bloom type %d", o.Bloom)
	within := func(n, least, most int, name string) {
		refuse(n < least || n > most, "%s %d is outside %d..%d", name, n, least, most)
	}
	if o.Bloom == BloomRowPrefix {
		within(o.BloomPrefix, 1, math.MaxInt32, "bloom prefix length (RowPrefixBloomFilter.prefix_length)")
	}
	within(o.BlockSize, 1, MaxBlockSize, "block size")
	refuse(int(o.Checksum) >= len(checksumNames), "unknown checksum type %d", o.Checksum)
	within(o.BytesPerChecksum, 1, math.MaxInt32, "bytes per checksum (hbase.hstore.bytes.per.checksum)")
	refuse(!(o.EncodedRatio >= 0 && o.EncodedRatio*float64(o.BlockSize) <= MaxBlockSize),
		"encoded size ratio (hbase.writer.unified.encoded.blocksize.ratio) %g of a block of %d bytes is outside 0..%d", o.EncodedRatio, o.BlockSize, MaxBlockSize)
	within(o.IndexBlockSize, 1, math.MaxInt32, "index block size (hfile.index.block.max.size)")
	refuse(o.IndexMemory < 0, "index memory %d is below 0", o.IndexMemory)
	within(o.IndexMinEntries, 2, math.MaxInt32, "index entries (hfile.index.block.min.entries)")
	within(o.BloomBlockSize, 1, maxBloomBlock, "bloom block size (io.storefile.bloom.block.size)")
	size := sizeBloom(min(max(o.BloomBlockSize, 1), maxBloomBlock), o.BloomErrorRate, o.Bloom == BloomRowCol)
	refuse(!(o.BloomErrorRate > 0 && o.BloomErrorRate < 1) || size.hashes < 1 || size.hashes > maxBloomHashes || size.maxKeys < 1,
		"bloom error rate (io.storefile.bloom.error.rate) %g makes no filter: 0.01 does", o.BloomErrorRate)
	refuse(len(o.Family) > MaxFamilyLen, "family of %d bytes is longer than %d", len(o.Family), MaxFamilyLen)
	return errors.Join(errs...)
}

func nameOf[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("unknown(%d)", uint8(v))
}

// find returns the value with a name, ignoring case. An empty name is the first value.
func find[T ~uint8](names []string, s, what string) (T, error) {
	i := slices.IndexFunc(names, func(n string) bool { return s == "" || strings.EqualFold(n, s) })
	if i < 0 {
		return 0, fmt.Errorf("%s %q: %w (known: %s)", what, s, ErrUnsupported, strings.Join(names, ", "))
	}
	return T(i), nil
}

// blockLimits are the encoded and unencoded sizes of a block's cells at which the block is
// full.
type blockLimits struct{ encoded, unencoded int }

func (o *Options) blockLimits() blockLimits {
	if limit := int(float64(o.BlockSize) * o.EncodedRatio); limit > 0 {
		return blockLimits{limit, MaxBlockSize}
	}
	return blockLimits{o.BlockSize, o.BlockSize}
}
