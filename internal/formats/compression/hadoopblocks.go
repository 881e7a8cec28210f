package compression

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/golang/snappy"
	"github.com/pierrec/lz4/v4"
)

// hadoopBlocks reads the format of Hadoop's SnappyCodec and Lz4Codec (BlockCompressorStream):
//
//	block: length of its text in 4 bytes, big-endian
//	       chunks, until their text has that length: packed length in 4 bytes, packed bytes
//
// Blocks have 256 KiB of text in one chunk, unless the writer was configured otherwise or received more at once. The format has no magic, no end mark
// and no checksum: a file that is truncated after a block is not detected.
type hadoopBlocks struct {
	r      io.Reader
	decode decodeBlock
	limits Limits

	left   int64 // of the block's text
	packed bytes.Buffer
	text   []byte
	given  int // bytes of text that were returned
}

// decodeBlock decompresses a chunk. The result has at most as many bytes as the block's text still lacks.
type decodeBlock struct {
	ratio  int64 // the largest number of bytes that a packed byte unpacks to
	unpack func(text, packed []byte, left, most int64) ([]byte, error)
}

// maxChunk is a limit: a chunk that is longer than the whole file means damage if it is longer than this, else truncation.
const maxChunk = 16 << 20

const (
	snappyRatio = 22  // 64 bytes of text from 3
	lz4Ratio    = 255 // each further length byte adds 255
)

var (
	decodeSnappy = decodeBlock{snappyRatio, unpackSnappy}
	decodeLZ4    = decodeBlock{lz4Ratio, unpackLZ4}

	errBlockLength = errors.New("the length of a block or chunk is impossible")
)

func openHadoop(decode decodeBlock) func(io.Reader, Limits) (io.Reader, func(), error) {
	return func(r io.Reader, l Limits) (io.Reader, func(), error) {
		return &hadoopBlocks{r: r, decode: decode, limits: l}, nil, nil
	}
}

// hadoopBlock returns the memory that a decompressor needs for the first block, as one chunk.
func hadoopBlock(ratio int64) func(io.ReaderAt, int64) (int64, error) {
	return func(raw io.ReaderAt, size int64) (int64, error) {
		head := make([]byte, 8)
		if size < int64(len(head)) {
			return 0, nil
		}
		if _, err := raw.ReadAt(head, 0); err != nil && err != io.EOF {
			return 0, err
		}
		block, chunk := int64(binary.BigEndian.Uint32(head)), int64(binary.BigEndian.Uint32(head[4:]))
		if chunk > size-int64(len(head)) || block > math.MaxInt32 {
			return 0, nil // reading reports the error
		}
		return chunk + min(block, chunk*ratio), nil
	}
}

func (h *hadoopBlocks) Read(p []byte) (int, error) {
	for h.given == len(h.text) {
		if err := h.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, h.text[h.given:])
	h.given += n
	return n, nil
}

// next decompresses the next chunk; it returns io.EOF if no block follows.
func (h *hadoopBlocks) next() error {
	if h.left == 0 {
		n, err := h.length()
		if err != nil || n == 0 {
			return err
		}
		if n > math.MaxInt32 {
			return errBlockLength
		}
		h.left = n
	}
	chunk, err := h.length()
	switch {
	case err != nil:
		return noEOF(err)
	case chunk > h.limits.Size && chunk > maxChunk:
		return errBlockLength
	case chunk > h.limits.Size:
		return io.ErrUnexpectedEOF
	case chunk+min(h.left, chunk*h.decode.ratio) > max(int64(h.limits.Window), 1<<20):
		return h.limits.Exceeded("a packed block", chunk+min(h.left, chunk*h.decode.ratio), int64(h.limits.Window))
	}
	h.packed.Reset()
	if _, err := io.CopyN(&h.packed, h.r, chunk); err != nil {
		return noEOF(err)
	}
	h.given = 0
	if h.text, err = h.decode.unpack(h.text[:0], h.packed.Bytes(), h.left, chunk*h.decode.ratio); err != nil {
		h.text = nil
		return err
	}
	h.left -= int64(len(h.text))
	return nil
}

// length reads a length; it returns io.EOF only at the end of the file.
func (h *hadoopBlocks) length() (int64, error) {
	var b [4]byte
	if _, err := io.ReadFull(h.r, b[:]); err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint32(b[:])), nil
}

func unpackSnappy(text, packed []byte, left, most int64) ([]byte, error) {
	if len(packed) == 0 {
		return text, nil
	}
	n, err := snappy.DecodedLen(packed)
	if err != nil {
		return nil, err
	}
	if int64(n) > left || int64(n) > most {
		return nil, errBlockLength
	}
	return snappy.Decode(text[:cap(text)], packed)
}

func unpackLZ4(text, packed []byte, left, most int64) ([]byte, error) {
	if len(packed) == 0 {
		return text, nil
	}
	if n := min(left, most); int64(cap(text)) < n {
		text = make([]byte, n)
	}
	text = text[:min(left, most)]
	n, err := lz4.UncompressBlock(packed, text)
	if err != nil {
		return nil, err
	}
	return text[:n], nil
}
