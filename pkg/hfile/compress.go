package hfile

import (
	"fmt"
	"slices"
)

// Compression is the codec of every block of a file.
type Compression uint8

// The codecs that this package writes and reads.
const (
	CompressionNone Compression = iota
	CompressionSnappy
	CompressionGZ
	CompressionLZ4
	CompressionZSTD
)

// HBase's name and trailer code of each codec (Compression.Algorithm, 2.6.4).
var (
	codecNames = [...]string{"NONE", "SNAPPY", "GZ", "LZ4", "ZSTD"}
	codecCodes = [...]uint64{2, 3, 1, 4, 6}
)

// otherCodecs names HBase's codecs that this package does not support, by code.
var otherCodecs = map[int]string{0: "LZO", 5: "BZIP2", 7: "LZMA", 8: "BROTLI"}

// String returns HBase's name of the codec.
func (c Compression) String() string { return nameOf(codecNames[:], c) }

// ParseCompression returns the codec with HBase's name s, ignoring case. An
// empty name means NONE. For any other name the error wraps [ErrUnsupported].
func ParseCompression(s string) (Compression, error) {
	return find[Compression](codecNames[:], s, "compression")
}

// compressionOf returns the codec with a trailer's code.
func compressionOf(code uint64) (Compression, error) {
	if i := slices.Index(codecCodes[:], code); i >= 0 {
		return Compression(i), nil
	}
	if name, ok := otherCodecs[int(code)]; ok && code < 16 {
		return 0, fmt.Errorf("compression %s: %w", name, ErrUnsupported)
	}
	return 0, fmt.Errorf("%w: unknown compression code %d", ErrCorrupt, code)
}

// Level is the amount of work that a codec spends on compression. Readers do not need it.
type Level uint8

const (
	LevelDefault Level = iota
	// LevelBetter uses more CPU time for smaller blocks, which are no slower to read. CompressionNone ignores it.
	LevelBetter
)

var levelNames = [...]string{"default", "better"}

// String returns the level's name.
func (l Level) String() string { return nameOf(levelNames[:], l) }

// ParseLevel returns the level with a name, ignoring case. An empty name means default.
func ParseLevel(s string) (Level, error) {
	return find[Level](levelNames[:], s, "compression level")
}

// ZstdFraming is the framing of Zstandard frames in a block. The server's
// hbase.io.compress.zstd.codec determines which framing it reads.
type ZstdFraming uint8

const (
	// ZstdPlain is a single bare frame, as Hadoop's own ZStandardCodec, HBase's
	// default, writes it.
	ZstdPlain ZstdFraming = iota
	// ZstdBlocks is Hadoop's block stream with a frame in each piece, as the
	// codec of HBase's module hbase-compression-zstd writes it.
	ZstdBlocks
)
