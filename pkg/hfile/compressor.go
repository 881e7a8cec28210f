package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// streamBuffer is the buffer size of Hadoop's block codecs
// (io.compression.codec.*.buffersize). A reader's buffers have the same size,
// so no piece may be longer, packed or unpacked.
const streamBuffer = 262144

// The maximum size of a piece in Hadoop's BlockCompressorStream: the buffer
// size less the codec's allowance for incompressible data (SnappyCodec and
// Lz4Codec of Hadoop 3.4, ZstdCodec of HBase 2.6.4).
const (
	snappyPiece = streamBuffer - (streamBuffer/6 + 32)
	lz4Piece    = streamBuffer - (streamBuffer/255 + 16)
	zstdPiece   = streamBuffer - streamBuffer/256
)

// compressor appends whole blocks in the framing of Hadoop's codec streams.
type compressor struct {
	codec   Compression
	level   Level
	framing ZstdFraming
	gz      *gzip.Writer
	gzOut   bytes.Buffer
	lz4     lz4.Compressor
	lz4HC   lz4.CompressorHC
	zstd    *zstd.Encoder
}

// append appends the compressed form of src to dst.
func (c *compressor) append(dst, src []byte) ([]byte, error) {
	switch c.codec {
	case CompressionNone:
		return append(dst, src...), nil
	case CompressionSnappy:
		return c.blockStream(dst, src, snappyPiece)
	case CompressionLZ4:
		return c.blockStream(dst, src, lz4Piece)
	case CompressionGZ:
		return c.appendGzip(dst, src)
	case CompressionZSTD:
		if c.framing == ZstdBlocks {
			return c.blockStream(dst, src, zstdPiece)
		}
		return c.appendZstd(dst, src)
	}
	return nil, fmt.Errorf("compression %s: %w", c.codec, ErrUnsupported)
}

// blockStream writes the format of Hadoop's BlockCompressorStream: the total length,
// then pieces of packed length and packed bytes. A payload of more than one piece
// ends with a zero, because HBase finishes the stream a second time without data.
func (c *compressor) blockStream(dst, src []byte, most int) ([]byte, error) {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(src)))
	pieces := 0
	for len(src) > 0 {
		n := min(len(src), most)
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		var err error
		if dst, err = c.piece(dst, src[:n]); err != nil {
			return nil, err
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		src = src[n:]
		pieces++
	}
	if pieces > 1 {
		dst = binary.BigEndian.AppendUint32(dst, 0)
	}
	return dst, nil
}

func (c *compressor) piece(dst, src []byte) ([]byte, error) {
	at := len(dst)
	switch c.codec {
	case CompressionSnappy:
		// This is plain Snappy, which any decoder reads. The output depends on src
		// alone.
		dst = slices.Grow(dst, s2.MaxEncodedLen(len(src)))
		if c.level == LevelBetter {
			return dst[:at+len(s2.EncodeSnappyBetter(dst[at:cap(dst)], src))], nil
		}
		return dst[:at+len(s2.EncodeSnappy(dst[at:cap(dst)], src))], nil
	case CompressionLZ4:
		// With this capacity, CompressBlock never reports src as incompressible.
		dst = slices.Grow(dst, lz4.CompressBlockBound(len(src)))
		if c.level == LevelBetter {
			n, err := c.lz4HC.CompressBlock(src, dst[at:cap(dst)])
			return dst[:at+n], err
		}
		n, err := c.lz4.CompressBlock(src, dst[at:cap(dst)])
		return dst[:at+n], err
	}
	return c.appendZstd(dst, src)
}

// appendGzip writes one gzip member with a plain ten-byte header, as HBase's
// ReusableStreamGzipCodec does.
func (c *compressor) appendGzip(dst, src []byte) ([]byte, error) {
	c.gzOut.Reset()
	if c.gz == nil {
		level := gzip.DefaultCompression
		if c.level == LevelBetter {
			level = gzip.BestCompression
		}
		var err error
		if c.gz, err = gzip.NewWriterLevel(&c.gzOut, level); err != nil {
			return nil, err
		}
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

// appendZstd writes one frame without a checksum, even for an empty payload.
func (c *compressor) appendZstd(dst, src []byte) ([]byte, error) {
	if c.zstd == nil {
		level := zstd.SpeedDefault
		if c.level == LevelBetter {
			level = zstd.SpeedBetterCompression
		}
		var err error
		if c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true)); err != nil {
			return nil, err
		}
	}
	return c.zstd.EncodeAll(src, dst), nil
}
