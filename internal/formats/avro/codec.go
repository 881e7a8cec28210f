package avro

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"bulkload/internal/formats/compression"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// errTooLarge is returned by an unpacker together with the size needed.
var errTooLarge = errors.New("the unpacked block is too large")

// An unpacker unpacks blocks. It reuses the state of its codec.
type unpacker struct {
	src     bytes.Reader
	deflate io.ReadCloser
	zstd    *zstd.Decoder
	most    int64 // the limit of zstd's output
}

// unpack appends the unpacked data, at most limit bytes. If there are more, the error is errTooLarge, and need is the size of the data, or limit+1 if
// the size is not known. It ignores bytes after the end of a deflate stream.
func (u *unpacker) unpack(codec string, dst, data []byte, limit int64) (grown []byte, need int64, err error) {
	switch codec {
	case "deflate":
		u.src.Reset(data)
		if u.deflate == nil {
			u.deflate = flate.NewReader(&u.src)
		} else if err := u.deflate.(flate.Resetter).Reset(&u.src, nil); err != nil {
			return dst, 0, err
		}
		return readUpTo(dst, u.deflate, 3*len(data), limit)
	case "bzip2":
		u.src.Reset(data)
		return readUpTo(dst, bzip2.NewReader(&u.src), 4*len(data), limit)
	case "xz":
		return u.unxz(dst, data, limit)
	case "snappy":
		return unsnappy(dst, data, limit)
	case "zstandard":
		return u.unzstd(dst, data, limit)
	}
	if int64(len(data)) > limit {
		return dst, int64(len(data)), errTooLarge
	}
	return append(dst, data...), 0, nil
}

// readUpTo appends all of r, at most limit bytes; guess is the expected size.
func readUpTo(dst []byte, r io.Reader, guess int, limit int64) ([]byte, int64, error) {
	start := len(dst)
	most := int(limit) + 1
	dst = slices.Grow(dst, min(guess, most))
	for {
		size := len(dst) - start
		if size == most {
			return dst[:start], limit + 1, errTooLarge
		}
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, min(max(size, 4096), most-size))
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), start+most)])
		dst = dst[:len(dst)+n]
		if err == io.EOF && len(dst)-start <= int(limit) {
			return dst, 0, nil
		}
		if err != nil && err != io.EOF {
			return dst[:start], 0, err
		}
	}
}

// unsnappy unpacks a snappy block and checks the big-endian CRC32 of the unpacked data, which follows the block.
func unsnappy(dst, data []byte, limit int64) ([]byte, int64, error) {
	n := len(data) - 4
	if n < 0 {
		return dst, 0, errors.New("the block is shorter than its checksum")
	}
	size, err := snappy.DecodedLen(data[:n])
	switch {
	case err != nil:
		return dst, 0, err
	case size > 64*n: // a copy of 64 bytes takes two bytes at least
		return dst, 0, snappy.ErrCorrupt
	case int64(size) > limit:
		return dst, int64(size), errTooLarge
	}
	start := len(dst)
	dst = slices.Grow(dst, size)
	if _, err := snappy.Decode(dst[start:start+size:start+size], data[:n]); err != nil {
		return dst[:start], 0, err
	}
	dst = dst[:start+size]
	if crc32.ChecksumIEEE(dst[start:]) != binary.BigEndian.Uint32(data[n:]) {
		return dst[:start], 0, errors.New("the checksum of the block does not match")
	}
	return dst, 0, nil
}

// unxz unpacks an xz stream. A dictionary larger than the limit is errTooLarge, with the dictionary's size.
func (u *unpacker) unxz(dst, data []byte, limit int64) (_ []byte, need int64, err error) {
	u.src.Reset(data)
	var dictionary int64 // the size of a dictionary that exceeds the limit
	z, _, err := compression.Named("xz").Open(&u.src, compression.Limits{Size: int64(len(data)), Window: uint64(limit), Exceeded: func(_ string, size, _ int64) error {
		dictionary = size
		return errTooLarge
	}})
	if err == nil {
		dst, need, err = readUpTo(dst, z, 4*len(data), limit)
	}
	if dictionary > 0 {
		return dst, dictionary, errTooLarge
	}
	return dst, need, err
}

func (u *unpacker) unzstd(dst, data []byte, limit int64) ([]byte, int64, error) {
	if u.zstd == nil || u.most != limit {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(max(limit, 1))))
		if err != nil {
			return dst, 0, err
		}
		u.zstd, u.most = z, limit
	}
	var h zstd.Header
	if err := h.Decode(data); err != nil {
		return dst, 0, err
	}
	guess := uint64(4 * len(data))
	if h.HasFCS {
		// A block takes 4 bytes at least and unpacks to 128 KiB at most.
		if guess = h.FrameContentSize; guess > uint64(len(data)/4+1)<<17 {
			return dst, 0, errors.New("the frame declares an impossible length")
		}
		if guess > uint64(limit) {
			return dst, int64(guess), errTooLarge
		}
	}
	start := len(dst)
	dst = slices.Grow(dst, int(min(guess, uint64(limit)))+64)
	got, err := u.zstd.DecodeAll(data, dst[start:start:cap(dst)])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return dst[:start], limit + 1, errTooLarge
	case err != nil:
		return dst[:start], 0, err
	case len(got) <= cap(dst)-start && (len(got) == 0 || &got[0] == &dst[:start+1][start]):
		return dst[:start+len(got)], 0, nil
	}
	return append(dst[:start], got...), 0, nil
}
