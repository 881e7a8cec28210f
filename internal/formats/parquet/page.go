package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"bulkload/pkg/setting"
)

// codec is the compression codec of a column's pages, with the numbers of parquet.thrift.
type codec int32

const (
	codecNone codec = iota
	codecSnappy
	codecGzip
	codecLZO
	codecBrotli
	codecLZ4
	codecZstd
	codecLZ4Raw
)

var codecNames = [...]string{"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"}

func (c codec) String() string {
	if c >= 0 && int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("number %d", int32(c))
}

// check returns an error for codecs that cannot be read.
func (c codec) check() error {
	if c < 0 || c > codecLZ4Raw || c == codecLZO {
		return fmt.Errorf("its pages are packed with %s, which cannot be read: write them with snappy, zstd, gzip, brotli, lz4_raw or not packed", c)
	}
	return nil
}

// maxPage is the largest accepted page size, so that a damaged header cannot request more.
const maxPage = 1 << 30

// pageSource reads and unpacks the pages of a file, one at a time. All columns of a reader share it.
type pageSource struct {
	raw    io.ReaderAt
	packed []byte // the header and the current packed page
	bytes  bytes.Reader
	gzip   *gzip.Reader
	zstd   *zstd.Decoder
	lz4    *lz4.Reader
}

// read reads the header of the page at offset at, which is before end, and then, unless claim returns an error for the header, the page's
// packed bytes. They are valid until the next call. hint is the likely length of header and bytes. next is the offset of the next page.
func (s *pageSource) read(at, end int64, hint int, claim func(pageHeader) error) (h pageHeader, packed []byte, next int64, err error) {
	n := int(min(max(int64(hint), 8<<10), end-at))
	if err := s.fill(at, 0, n); err != nil {
		return h, nil, 0, err
	}
	var size int
	for {
		h, size, err = parsePageHeader(s.packed[:n])
		if err != errShortHeader {
			break
		}
		// Statistics can make a header long.
		more := int(min(int64(4*n), end-at, 16<<20))
		if more <= n {
			break
		}
		if err := s.fill(at, n, more); err != nil {
			return h, nil, 0, err
		}
		n = more
	}
	if err != nil {
		return h, nil, 0, err
	}
	if int64(h.packed) > end-at-int64(size) {
		return h, nil, 0, fmt.Errorf("%s packed into %d, more than the column has left", setting.Count(h.unpacked, "byte is"), h.packed)
	}
	if err := claim(h); err != nil {
		return h, nil, 0, err
	}
	total := size + h.packed
	if total > n {
		if err := s.fill(at, n, total); err != nil {
			return h, nil, 0, err
		}
	}
	packed = s.packed[size:total]
	if h.hasCRC && crc32.ChecksumIEEE(packed) != h.crc {
		return h, nil, 0, errors.New("its checksum is wrong: the file is damaged")
	}
	return h, packed, at + int64(total), nil
}

// fill reads bytes have to want of the page that begins at offset at of the file.
func (s *pageSource) fill(at int64, have, want int) error {
	if len(s.packed) < want {
		packed := make([]byte, want+want/8)
		copy(packed, s.packed[:have])
		s.packed = packed
	}
	return ReadAt(s.raw, s.packed[have:want], at+int64(have))
}

// unpack unpacks a page to dst, which it must fill.
func (s *pageSource) unpack(c codec, dst, packed []byte) (err error) {
	n := 0
	if len(dst)+len(packed) == 0 {
		return nil
	}
	switch c {
	case codecNone:
		n = copy(dst, packed)
		if len(packed) > len(dst) {
			n = len(packed)
		}
	case codecSnappy:
		if n, err = snappy.DecodedLen(packed); err == nil && n == len(dst) {
			_, err = snappy.Decode(dst, packed)
		}
	case codecGzip:
		s.bytes.Reset(packed)
		if s.gzip == nil {
			s.gzip, err = gzip.NewReader(&s.bytes)
		} else {
			err = s.gzip.Reset(&s.bytes)
		}
		if err == nil {
			n, err = readExactly(s.gzip, dst)
		}
	case codecZstd:
		if s.zstd == nil {
			s.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return err
			}
		}
		var out []byte
		out, err = s.zstd.DecodeAll(packed, dst[:0:len(dst)])
		n = len(out)
	case codecLZ4:
		n, err = s.unpackLZ4(dst, packed)
	case codecLZ4Raw:
		if len(dst) > 0 {
			n, err = lz4.UncompressBlock(packed, dst)
		}
	case codecBrotli:
		n, err = s.unbrotli(dst, packed)
	default:
		err = c.check()
	}
	if err != nil {
		return fmt.Errorf("unpack %s: %w", c, err)
	}
	if n != len(dst) {
		return fmt.Errorf("unpack %s: %s instead of %d", c, setting.Count(n, "byte"), len(dst))
	}
	return nil
}

func (s *pageSource) unbrotli(dst, packed []byte) (n int, err error) {
	c, err := compress.GetCodec(compress.Codecs.Brotli)
	if err != nil {
		return 0, err
	}
	s.bytes.Reset(packed)
	r := c.NewReader(&s.bytes)
	n, err = readExactly(r, dst)
	return n, errors.Join(err, r.Close())
}

// readExactly fills dst and returns the number of bytes read. If there are more data, it adds one to that number.
func readExactly(r io.Reader, dst []byte) (int, error) {
	n, err := io.ReadFull(r, dst)
	if err != nil {
		return n, err
	}
	var more [1]byte
	m, err := io.ReadFull(r, more[:])
	if err == io.EOF {
		err = nil
	}
	return n + m, err
}

var magicLZ4 = []byte{0x04, 0x22, 0x4d, 0x18}

// unpackLZ4 unpacks a page of the codec LZ4, whose format was never specified: Hadoop's frames (parquet-mr, and Arrow's C++ since
// 2.0), LZ4's own (Arrow's C++ before 0.15) or one block (Impala, and Arrow's C++ in between). It returns the unpacked size.
func (s *pageSource) unpackLZ4(dst, packed []byte) (n int, err error) {
	if unpackHadoopLZ4(dst, packed) {
		return len(dst), nil
	}
	if bytes.HasPrefix(packed, magicLZ4) {
		s.bytes.Reset(packed)
		if s.lz4 == nil {
			s.lz4 = lz4.NewReader(&s.bytes)
		} else {
			s.lz4.Reset(&s.bytes)
		}
		return readExactly(s.lz4, dst)
	}
	if n, err = lz4.UncompressBlock(packed, dst); err != nil {
		return n, errors.New("the page is neither in Hadoop's frames nor an LZ4 frame or block")
	}
	return n, nil
}

// unpackHadoopLZ4 unpacks the frames of Hadoop's BlockCompressorStream, and reports whether they are valid and fill dst:
//
//	+-----------------+---------------+--------+---------------+--------+-----+
//	| unpacked, 4 BE  | packed, 4 BE  | block  | packed, 4 BE  | block  | ... |
//	+-----------------+---------------+--------+---------------+--------+-----+
//
// Blocks follow until they have the unpacked size of the frame, then the next frame. A frame of size 0 has no block.
func unpackHadoopLZ4(dst, packed []byte) bool {
	for at := 0; len(packed) > 0; {
		if len(packed) < 4 {
			return false
		}
		size := binary.BigEndian.Uint32(packed)
		packed = packed[4:]
		if uint64(size) > uint64(len(dst)-at) {
			return false
		}
		for end := at + int(size); at < end; {
			if len(packed) < 4 {
				return false
			}
			n := binary.BigEndian.Uint32(packed)
			packed = packed[4:]
			if n == 0 || uint64(n) > uint64(len(packed)) {
				return false
			}
			made, err := lz4.UncompressBlock(packed[:n], dst[at:end])
			if err != nil || made == 0 {
				return false
			}
			at += made
			packed = packed[n:]
		}
		if len(packed) == 0 {
			return at == len(dst)
		}
	}
	return len(dst) == 0
}
