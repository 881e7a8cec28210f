package orc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"bulkload/internal/formats/parquet"
)

// codec is the compression of a file's streams, numbered as in orc_proto.proto.
type codec int32

const (
	codecNone codec = iota
	codecZlib
	codecSnappy
	codecLZO
	codecLZ4
	codecZstd
	codecBrotli
)

var codecNames = [...]string{"NONE", "ZLIB", "SNAPPY", "LZO", "LZ4", "ZSTD", "BROTLI"}

func (c codec) String() string {
	if int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("number %d", int32(c))
}

// maxChunk is the largest length that a chunk's header can hold.
const maxChunk = 1<<23 - 1

// window is the number of bytes that a stream of an uncompressed file reads at a time.
const window = 64 << 10

// source reads and decompresses chunks, one at a time. All streams of a reader share it.
type source struct {
	raw      io.ReaderAt
	codec    codec
	block    int    // the most bytes that a chunk decompresses to
	packed   []byte // the header and the compressed bytes of the current chunk
	unpacked []byte // the current chunk
	bytes    bytes.Reader
	inflate  io.ReadCloser
	zstd     *zstd.Decoder
	limit    parquet.Limit
	held     int64 // bytes of all buffers
}

// claim adds n to the bytes held. It returns an error if they would exceed the memory limit of a reader.
func (r *source) claim(n int64, what string) error {
	if n > r.limit.Bytes-r.held {
		return r.limit.Exceeded(what, r.held+n, r.limit.Bytes)
	}
	r.held += n
	return nil
}

// grown returns a buffer of n bytes, with slack after them. If the buffer has to grow, its contents are lost.
func (r *source) grown(b []byte, n int) ([]byte, error) {
	if cap(b) >= n+slack {
		return b[:n], nil
	}
	if err := r.claim(int64(n+slack-cap(b)), "a chunk with those of other columns"); err != nil {
		return b, err
	}
	return make([]byte, n, n+slack), nil
}

// fetch reads n bytes of the file at offset at into packed, which already holds the first have bytes of them.
func (r *source) fetch(at int64, have, n int) error {
	if cap(r.packed) < n+slack {
		old := r.packed[:have]
		b, err := r.grown(r.packed, n)
		if err != nil {
			return err
		}
		r.packed = b
		copy(b, old)
	}
	r.packed = r.packed[:n]
	return parquet.ReadAt(r.raw, r.packed[have:], at+int64(have))
}

func (r *source) unpack(packed []byte) (_ []byte, err error) {
	if r.unpacked, err = r.grown(r.unpacked, r.block); err != nil {
		return nil, err
	}
	dst, n := r.unpacked, 0
	switch r.codec {
	case codecZlib:
		r.bytes.Reset(packed)
		if r.inflate == nil {
			r.inflate = flate.NewReader(&r.bytes)
		} else if err := r.inflate.(flate.Resetter).Reset(&r.bytes, nil); err != nil {
			return nil, err
		}
		n, err = r.inflateTo(dst)
	case codecSnappy:
		if n, err = snappy.DecodedLen(packed); err == nil && n <= len(dst) {
			_, err = snappy.Decode(dst, packed)
		}
	case codecLZ4:
		n, err = lz4.UncompressBlock(packed, dst)
	case codecZstd:
		if r.zstd == nil {
			r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxChunk+1), zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return nil, err
			}
		}
		var out []byte
		out, err = r.zstd.DecodeAll(packed, dst[:0:len(dst)])
		n = len(out)
	}
	if err == nil && n > len(dst) {
		err = errLongChunk
	}
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", r.codec, err)
	}
	return dst[:n], nil
}

var errLongChunk = errors.New("a chunk is longer than the file's limit for chunks")

// inflateTo reads the whole inflated chunk into dst.
func (r *source) inflateTo(dst []byte) (n int, err error) {
	for err == nil && n < len(dst) {
		var m int
		m, err = r.inflate.Read(dst[n:])
		n += m
	}
	if err == nil {
		var more [1]byte
		if _, err = io.ReadFull(r.inflate, more[:]); err == nil {
			return n, errLongChunk
		}
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// slack is the number of bytes after the contents of a buffer, so that a word can be loaded from any position.
const slack = 8

// stream reads a stream of a column in one stripe.
type stream struct {
	source    *source
	next, end int64  // file offsets of the bytes not read yet
	hint      int    // the likely compressed length of the next chunk
	buf       []byte // the current chunk, with slack after it
	at        int    // position in buf
	hold      []byte // bytes that span two chunks
	sum       uint32 // of the bytes read
}

var errShort = errors.New("it has fewer values than the stripe has rows")

// begin starts a stream. It keeps the stream's buffers.
func (s *stream) begin(r *source, e extent) {
	*s = stream{source: r, next: e.at, end: e.end, buf: s.buf[:0], hold: s.hold}
}

// fill reads the next chunk that is not empty.
func (s *stream) fill() error {
	s.at, s.buf = 0, s.buf[:0]
	for len(s.buf) == 0 {
		if s.next >= s.end {
			return errShort
		}
		if err := s.chunk(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) chunk() (err error) {
	r, left := s.source, s.end-s.next
	if r.codec == codecNone {
		n := int(min(left, window))
		if err = r.fetch(s.next, 0, n); err == nil {
			err = s.keep(n, r.packed)
		}
		return err
	}
	s.hint = cmp.Or(s.hint, min(r.block, 256<<10)+3)
	have := int(min(left, int64(s.hint)))
	if err := r.fetch(s.next, 0, have); err != nil {
		return err
	}
	if have < 3 {
		return errors.New("a chunk is damaged")
	}
	// The lowest bit is set if the chunk is not compressed.
	header := int(r.packed[0]) | (int(r.packed[1]) << 8) | (int(r.packed[2]) << 16)
	n := 3 + (header >> 1)
	if n > r.block+3 || int64(n) > left {
		return fmt.Errorf("a chunk at byte %d has %d bytes, more than its stream or a chunk", s.next, n-3)
	}
	if n > have {
		if err := r.fetch(s.next, have, n); err != nil {
			return err
		}
	}
	s.hint = n + n/8
	data := r.packed[3:n]
	if (header & 1) == 0 {
		at := s.next
		if data, err = r.unpack(data); err != nil {
			return fmt.Errorf("chunk at byte %d: %w", at, err)
		}
	}
	return s.keep(n, data)
}

// keep copies the data of the chunk just read, which has n bytes in the file.
func (s *stream) keep(n int, data []byte) (err error) {
	if s.buf, err = s.source.grown(s.buf, len(data)); err != nil {
		return err
	}
	copy(s.buf, data)
	s.sum = crc32.Update(s.sum, crc32.MakeTable(crc32.Castagnoli), s.source.packed[:n]) // the table is made once
	s.next += int64(n)
	return nil
}

func (s *stream) byte() (byte, error) {
	if s.at == len(s.buf) {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	b := s.buf[s.at]
	s.at++
	return b, nil
}

// take returns the next n bytes; n is small. They are valid until the next call, and have slack after them.
func (s *stream) take(n int) ([]byte, error) {
	if len(s.buf)-s.at >= n {
		s.at += n
		return s.buf[s.at-n : s.at], nil
	}
	var err error
	s.hold, err = s.appendTo(s.hold[:0], n)
	if err == nil && cap(s.hold) < n+slack {
		s.hold = append(make([]byte, 0, n+slack), s.hold...)
	}
	return s.hold, err
}

// appendTo appends the next n bytes to dst.
func (s *stream) appendTo(dst []byte, n int) ([]byte, error) {
	for n > 0 {
		if s.at == len(s.buf) {
			if err := s.fill(); err != nil {
				return dst, err
			}
		}
		m := min(n, len(s.buf)-s.at)
		dst = append(dst, s.buf[s.at:s.at+m]...)
		s.at += m
		n -= m
	}
	return dst, nil
}
