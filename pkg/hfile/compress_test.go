package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCodecs packs payloads around the piece sizes and unpacks them.
func TestCodecs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 3*lz4Piece+5)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := bytes.Repeat([]byte("row and column "), len(noise)/15)
	for codec := range codecNames {
		for setting := range 4 {
			framing, level := ZstdFraming(setting&1), Level(setting>>1)
			c := compressor{codec: Compression(codec), framing: framing, level: level}
			d := decompressor{codec: Compression(codec), maxBlock: DefaultMaxBlock}
			for _, n := range []int{0, 1, 100, snappyPiece - 1, snappyPiece, snappyPiece + 1, lz4Piece, lz4Piece + 1, zstdPiece, zstdPiece + 1, 3 * lz4Piece} {
				for _, src := range [][]byte{noise[:n], text[:n]} {
					packed, err := c.append([]byte("before"), src)
					if err != nil {
						t.Fatal(err)
					}
					got, err := d.unpack(packed[len("before"):], n)
					if err != nil || !bytes.Equal(got, src) {
						t.Fatalf("%s, framing %d, level %s, %d bytes: %v", c.codec, framing, level, n, err)
					}
				}
			}
		}
	}
}

// TestBlockStream checks the framing: the total length, pieces no longer than
// Hadoop's buffers, and a zero after more than one piece.
func TestBlockStream(t *testing.T) {
	noise := make([]byte, 2*streamBuffer)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for codec, most := range map[Compression]int{CompressionSnappy: snappyPiece, CompressionLZ4: lz4Piece, CompressionZSTD: zstdPiece} {
		c := compressor{codec: codec, framing: ZstdBlocks}
		for _, n := range []int{0, 1, most, most + 1, 2*most + 1} {
			b, err := c.append(nil, noise[:n])
			if err != nil {
				t.Fatal(err)
			}
			d := decbuf{b: b}
			if got := d.i32(); got != n {
				t.Fatalf("%s: length %d of %d", codec, got, n)
			}
			pieces := (n + most - 1) / most
			for range pieces {
				size := d.i32()
				if size > streamBuffer {
					t.Fatalf("%s: a piece of %d bytes", codec, size)
				}
				d.bytes(size)
			}
			if pieces > 1 && d.i32() != 0 || d.err != nil || d.rest() != 0 {
				t.Fatalf("%s: %d bytes: %d left over, error %v", codec, n, d.rest(), d.err)
			}
		}
	}
}

// TestBombs unpacks data with claimed lengths that are too small and far too large.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 16<<20)
	for codec := range codecNames {
		if Compression(codec) == CompressionNone {
			continue
		}
		for _, framing := range []ZstdFraming{ZstdPlain, ZstdBlocks} {
			c := compressor{codec: Compression(codec), framing: framing}
			bomb, err := c.append(nil, zeros)
			if err != nil {
				t.Fatal(err)
			}
			const most = 1 << 20
			d := decompressor{codec: Compression(codec), maxBlock: most}
			if _, err := d.unpack(bomb, most); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: 16 MiB for one: %v", c.codec, err)
			}
			if cap(d.payload) > 4*most {
				t.Errorf("%s: %d bytes kept", c.codec, cap(d.payload))
			}
			small, err := c.append(nil, []byte("small"))
			if err != nil {
				t.Fatal(err)
			}
			d = decompressor{codec: Compression(codec), maxBlock: DefaultMaxBlock}
			if _, err := d.unpack(small, DefaultMaxBlock); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: 5 bytes for %d: %v", c.codec, DefaultMaxBlock, err)
			}
			if cap(d.payload) > 1<<20 {
				t.Errorf("%s: room for %d bytes was made for a promise", c.codec, cap(d.payload))
			}
		}
	}
}

// TestRefusedByName checks that errors name features of HBase that this package lacks.
func TestRefusedByName(t *testing.T) {
	for code, name := range otherCodecs {
		if _, err := ParseCompression(name); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := compressionOf(uint64(code)); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("code %d: %v", code, err)
		}
	}
	if _, err := ParseEncoding("PREFIX_TREE"); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	file := func(change func(*forged)) []byte {
		x := forge(Options{})
		change(x)
		return x.bytes()
	}
	encrypted := file(func(*forged) {})
	body := encrypted[len(encrypted)-trailerSize+8:]
	n, used := binary.Uvarint(body)
	body[0] += 3 // the protobuf gets a field 13 of one byte
	copy(body[used+int(n):], []byte{13<<3 | 2, 1, 7})
	for name, b := range map[string][]byte{
		"encrypted":   encrypted,
		"PREFIX_TREE": file(func(x *forged) { x.info = infoPayload(infoEntry{infoEncoding, []byte("PREFIX_TREE")}) }),
		"hfile version 2": func() []byte {
			b := file(func(*forged) {})
			b[len(b)-1] = 2
			return b
		}(),
		"hfile version 4": func() []byte {
			b := file(func(*forged) {})
			b[len(b)-1] = 4
			return b
		}(),
	} {
		if _, err := Open(bytes.NewReader(b), int64(len(b)), ReaderOptions{}); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if res := Check(bytes.NewReader(b), int64(len(b)), CheckOptions{}); res.OK || !res.Unsupported {
			t.Errorf("check of %s: %+v", name, res)
		}
	}
}
