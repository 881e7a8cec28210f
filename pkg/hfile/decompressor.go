package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// decompressor unpacks blocks into its own buffer. It allocates only as much as
// the packed bytes can hold, whatever lengths they claim.
type decompressor struct {
	codec    Compression
	maxBlock int
	payload  []byte
	gz       *gzip.Reader
	zstd     *zstd.Decoder
}

// unpack returns the want bytes that data was packed from, valid until the next call.
func (c *decompressor) unpack(data []byte, want int) (payload []byte, err error) {
	c.payload = c.payload[:0]
	// The codecs are third-party code. If damaged bytes make one panic, unpack
	// returns an error.
	defer func() {
		if p := recover(); p != nil {
			c.gz, c.zstd = nil, nil
			payload, err = nil, fmt.Errorf("%w: %s: %v", ErrCorrupt, c.codec, p)
		}
	}()
	switch c.codec {
	case CompressionNone:
		if len(data) != want {
			return nil, fmt.Errorf("%w: %d bytes, its header says %d", ErrCorrupt, len(data), want)
		}
		return data, nil
	case CompressionSnappy, CompressionLZ4:
		err = c.blockStream(data, want)
	case CompressionGZ:
		err = c.gzip(data, want)
	case CompressionZSTD:
		// Both framings are accepted. A block stream begins with a length of at
		// most want, which differs from a frame's magic number.
		if len(data) >= 4 && binary.BigEndian.Uint32(data) == zstdMagic && want < zstdMagic {
			err = c.appendZstd(data, want)
		} else {
			err = c.blockStream(data, want)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(c.payload) != want {
		return nil, fmt.Errorf("%w: %d bytes unpacked, its header says %d", ErrCorrupt, len(c.payload), want)
	}
	return c.payload, nil
}

// zstdMagic is the magic number in a frame's first four bytes.
const zstdMagic = 0x28b52ffd

// blockStream reads Hadoop's block stream: any number of chunks, each preceded
// by the unpacked length of its pieces.
func (c *decompressor) blockStream(data []byte, want int) error {
	d := decbuf{b: data}
	for len(c.payload) < want {
		chunk := d.i32()
		if chunk < 0 || chunk > want-len(c.payload) {
			d.fail(fmt.Sprintf("a chunk of %d bytes for %d that are left", chunk, want-len(c.payload)))
		}
		for end := len(c.payload) + chunk; len(c.payload) < end && d.err == nil; {
			piece := d.bytes(d.i32())
			if d.err != nil {
				break
			}
			before := len(c.payload)
			if err := c.piece(piece, end-before); err != nil {
				return err
			}
			if len(c.payload) == before {
				d.fail("a piece with nothing in it")
			}
		}
		if d.err != nil {
			return d.err
		}
		if chunk == 0 {
			break
		}
	}
	return nil
}

// piece unpacks one piece of at most the given number of bytes and appends it to the payload.
func (c *decompressor) piece(piece []byte, most int) error {
	at := len(c.payload)
	switch c.codec {
	case CompressionSnappy:
		n, err := snappy.DecodedLen(piece)
		if err != nil || n > most {
			return fmt.Errorf("%w: a Snappy piece of %d bytes for %d that are left: %v", ErrCorrupt, n, most, err)
		}
		// Snappy packs at most 64 bytes into 3, so a claimed length can be checked before memory is
		// allocated for it.
		if n/24 > len(piece) {
			return fmt.Errorf("%w: a Snappy piece of %d bytes cannot hold %d", ErrCorrupt, len(piece), n)
		}
		c.payload = slices.Grow(c.payload, n)
		if _, err := snappy.Decode(c.payload[at:at+n], piece); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		c.payload = c.payload[:at+n]
		return nil
	case CompressionLZ4:
		room := int(min(int64(most), 255*int64(len(piece)))) // an LZ4 byte unpacks to at most 255 bytes
		c.payload = slices.Grow(c.payload, room)
		n, err := lz4.UncompressBlock(piece, c.payload[at:at+room:at+room])
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		c.payload = c.payload[:at+n]
		return nil
	}
	return c.appendZstd(piece, most)
}

func (c *decompressor) gzip(data []byte, want int) error {
	src := bytes.NewReader(data)
	var err error
	if c.gz == nil {
		c.gz, err = gzip.NewReader(src)
	} else {
		err = c.gz.Reset(src)
	}
	if err != nil {
		c.gz = nil
		return fmt.Errorf("%w: gzip: %w", ErrCorrupt, err)
	}
	// The buffer grows with the unpacked data. One byte more than wanted shows that the size is wrong.
	buf := bytes.NewBuffer(c.payload)
	_, err = io.Copy(buf, io.LimitReader(c.gz, int64(want)+1))
	c.payload = buf.Bytes()
	if err != nil {
		return fmt.Errorf("%w: gzip: %w", ErrCorrupt, err)
	}
	return nil
}

// zstdBlock is the maximum content of a block of a Zstandard frame. The
// smallest block has four bytes.
const zstdBlock = 128 << 10

// appendZstd unpacks whole frames of at most the given number of bytes and appends them to the payload.
func (c *decompressor) appendZstd(data []byte, most int) error {
	if c.zstd == nil {
		var err error
		c.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(c.maxBlock)), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return err
		}
	}
	at := len(c.payload)
	room := int(min(int64(most), (int64(len(data))/4+1)*zstdBlock))
	c.payload = slices.Grow(c.payload, room)
	out, err := c.zstd.DecodeAll(data, c.payload[:at:at+room])
	if err != nil {
		return fmt.Errorf("%w: zstd: %w", ErrCorrupt, err)
	}
	c.payload = c.payload[:len(out)]
	if len(out) > 0 && &out[0] != &c.payload[0] {
		return fmt.Errorf("%w: zstd: more than %d bytes", ErrCorrupt, most)
	}
	return nil
}
