package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
)

// Compression is the codec of every block of a file.
type Compression uint8

// The codecs that this package writes and reads.
const (
	CompressionNone Compression = iota
	CompressionSnappy
	CompressionGZ
)

// codecs holds HBase's name and trailer code (Compression.Algorithm, 2.6.4) of each.
var codecs = [...]struct {
	name string
	code int
}{
	CompressionNone:   {"NONE", 2},
	CompressionSnappy: {"SNAPPY", 3},
	CompressionGZ:     {"GZ", 1},
}

// otherCodecs are HBase's codecs that are refused by name.
var otherCodecs = map[int]string{0: "LZO", 4: "LZ4", 5: "BZIP2", 6: "ZSTD", 7: "LZMA", 8: "BROTLI"}

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

// snappyPiece is the most that Hadoop's BlockCompressorStream puts into one
// piece: io.compression.codec.snappy.buffersize, 262144, less the room that
// SnappyCodec sets aside for incompressible data (a sixth and 32).
const snappyPiece = 262144 - (262144/6 + 32)

// compressor appends whole blocks in the framing of Hadoop's codec streams.
type compressor struct {
	codec Compression
	gz    *gzip.Writer
	gzOut bytes.Buffer
}

// append puts the compressed form of src behind dst.
func (c *compressor) append(dst, src []byte) ([]byte, error) {
	switch c.codec {
	case CompressionNone:
		return append(dst, src...), nil
	case CompressionSnappy:
		return appendSnappy(dst, src), nil
	case CompressionGZ:
		return c.appendGzip(dst, src)
	}
	return nil, fmt.Errorf("compression %s: %w", c.codec, ErrUnsupported)
}

// appendSnappy writes Hadoop's block stream: the length of all, then pieces of
// compressed length and raw Snappy. A payload of more than one piece ends in
// a zero, because HBase finishes the stream a second time with nothing in it.
func appendSnappy(dst, src []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(src)))
	pieces := 0
	for len(src) > 0 {
		n := min(len(src), snappyPiece)
		at := len(dst)
		dst = slices.Grow(dst, 4+snappy.MaxEncodedLen(n))
		out := snappy.Encode(dst[at+4:cap(dst)], src[:n])
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(out)))
		dst = dst[:at+4+len(out)]
		src = src[n:]
		pieces++
	}
	if pieces > 1 {
		dst = binary.BigEndian.AppendUint32(dst, 0)
	}
	return dst
}

// appendGzip writes one gzip member with a plain ten-byte header, as HBase's
// ReusableStreamGzipCodec does.
func (c *compressor) appendGzip(dst, src []byte) ([]byte, error) {
	c.gzOut.Reset()
	if c.gz == nil {
		c.gz = gzip.NewWriter(&c.gzOut)
	} else {
		c.gz.Reset(&c.gzOut)
	}
	if _, err := c.gz.Write(src); err != nil {
		return nil, err
	}
	if err := c.gz.Close(); err != nil {
		return nil, err
	}
	return append(dst, c.gzOut.Bytes()...), nil
}
