package hfile

import (
	"fmt"
	"strings"
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

// codecs holds HBase's name and trailer code (Compression.Algorithm, 2.6.4) of each.
var codecs = [...]struct {
	name string
	code int
}{
	CompressionNone:   {"NONE", 2},
	CompressionSnappy: {"SNAPPY", 3},
	CompressionGZ:     {"GZ", 1},
	CompressionLZ4:    {"LZ4", 4},
	CompressionZSTD:   {"ZSTD", 6},
}

// otherCodecs are HBase's codecs that are refused by name.
var otherCodecs = map[int]string{0: "LZO", 5: "BZIP2", 7: "LZMA", 8: "BROTLI"}

// String gives HBase's name of the codec.
func (c Compression) String() string {
	if int(c) < len(codecs) {
		return codecs[c].name
	}
	return fmt.Sprintf("unknown(%d)", uint8(c))
}

// ParseCompression finds a codec by HBase's name, in any case. An empty name
// is NONE. A codec that HBase has and this package lacks gives [ErrUnsupported].
func ParseCompression(s string) (Compression, error) {
	if s == "" {
		return CompressionNone, nil
	}
	known := make([]string, len(codecs))
	for i, c := range codecs {
		if strings.EqualFold(c.name, s) {
			return Compression(i), nil
		}
		known[i] = c.name
	}
	return 0, fmt.Errorf("compression %q: %w (known: %s)", s, ErrUnsupported, strings.Join(known, ", "))
}

// compressionOf finds a codec by its code in a trailer.
func compressionOf(code uint64) (Compression, error) {
	for i, c := range codecs {
		if uint64(c.code) == code {
			return Compression(i), nil
		}
	}
	if name, ok := otherCodecs[int(code)]; ok && code < 16 {
		return 0, fmt.Errorf("compression %s: %w", name, ErrUnsupported)
	}
	return 0, fmt.Errorf("%w: unknown compression code %d", ErrCorrupt, code)
}

// Level is how much work the codec of a file does for fewer bytes. Readers need not know it.
type Level uint8

const (
	LevelDefault Level = iota
	// LevelBetter takes more of the processor: smaller blocks, which are no slower to read. It means nothing to CompressionNone.
	LevelBetter
)

var levelNames = [...]string{"default", "better"}

// String gives the level's name.
func (l Level) String() string { return nameOf(levelNames[:], int(l)) }

// ParseLevel finds a level by its name, in any case. An empty name is default.
func ParseLevel(s string) (Level, error) {
	i, err := find(levelNames[:], s, "compression level")
	return Level(i), err
}

// ZstdFraming is the framing around the Zstandard frames of a block. Which of
// the two a server reads is decided by its hbase.io.compress.zstd.codec.
type ZstdFraming uint8

const (
	// ZstdPlain is one frame and nothing else: Hadoop's own ZStandardCodec,
	// HBase's default.
	ZstdPlain ZstdFraming = iota
	// ZstdBlocks is Hadoop's block stream with a frame in each piece: the codec
	// of HBase's module hbase-compression-zstd.
	ZstdBlocks
)
