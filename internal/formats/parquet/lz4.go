package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/pierrec/lz4/v4"
)

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
