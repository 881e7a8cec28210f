package compression

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"strings"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// A Codec is a compression format. A file may consist of several members, frames or streams; all of them are read.
type Codec struct {
	name    string
	endings []string // of names, in lower case
	// magic reports whether a file begins with the format's magic; nil: the format has none.
	magic func(head []byte) bool
	// Need returns the bytes of memory that a decompressor needs in addition to [AheadMemory] for the first part of the file, and Holds is the name of
	// that memory in messages. They are not set for formats whose decompressors need little.
	Holds string
	Need  func(raw io.ReaderAt, size int64) (int64, error)
	// Open decompresses r. stop, if not nil, releases the decompressor.
	Open func(r io.Reader, l Limits) (text io.Reader, stop func(), err error)
}

// codecs are the supported formats.
var codecs = []*Codec{
	{name: "gz", endings: []string{".gz", ".gzip"}, magic: begins("\x1f\x8b"), Open: openGzip},
	{name: "zst", endings: []string{".zst", ".zstd"}, magic: begins("\x28\xb5\x2f\xfd"), Holds: "zstd window", Need: firstWindow, Open: openZstd},
	{name: "bz2", endings: []string{".bz2", ".bz"}, magic: bzipMagic, Open: openBzip},
	{name: "xz", endings: []string{".xz"}, magic: begins(xzMagic), Holds: "xz dictionary", Need: firstDictionary, Open: openXZ},
	{name: "lz4", endings: []string{".lz4"}, magic: begins(lz4Magic), Holds: "lz4 block", Need: lz4Block, Open: openLZ4},
	{name: "sz", endings: []string{".sz"}, magic: begins("\xff\x06\x00\x00sNaPpY"), Open: openSnappy},
	{name: "snappy", endings: []string{".snappy"}, Holds: "snappy block", Need: hadoopBlock(snappyRatio), Open: openHadoop(decodeSnappy)},
	{name: "deflate", endings: []string{".deflate", ".zlib"}, Open: openZlib},
	{name: hadoopLZ4, Holds: "lz4 block", Need: hadoopBlock(lz4Ratio), Open: openHadoop(decodeLZ4)},
}

// hadoopLZ4 is the format of Hadoop's Lz4Codec. Its files have the same ending as lz4 frames.
const hadoopLZ4 = "hadoop-lz4"

const (
	xzMagic  = "\xfd7zXZ\x00"
	lz4Magic = "\x04\x22\x4d\x18"
)

func begins(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// bzipMagic also checks the magic of the first block, or of the end of an empty stream, because text can begin with BZh9.
func bzipMagic(head []byte) bool {
	return len(head) >= 10 && string(head[:3]) == "BZh" && head[3] >= '1' && head[3] <= '9' &&
		(string(head[4:10]) == "1AY&SY" || string(head[4:10]) == "\x17\x72\x45\x38\x50\x90")
}

// Named returns the codec with a name, or nil.
func Named(name string) *Codec {
	for _, c := range codecs {
		if c.name == name {
			return c
		}
	}
	return nil
}

// Cut removes the ending of a compressed file from its name, which is in lower case, and returns the compression.
func Cut(name string) (base, compression string) {
	for _, c := range codecs {
		for _, ending := range c.endings {
			if base, ok := strings.CutSuffix(name, ending); ok {
				return base, c.name
			}
		}
	}
	return name, ""
}

// Begins returns the compression that the first bytes of a file show, or "". No UTF-8 text begins with any of these magics.
func Begins(head []byte) string {
	for _, c := range codecs {
		if c.magic != nil && c.magic(head) {
			return c.name
		}
	}
	return ""
}

// FirstFrame returns the compression of the first frame with data, in a file that begins with skippable frames of zstd or lz4.
func FirstFrame(raw io.ReaderAt, size int64) (string, error) {
	for at := int64(0); at < size; {
		head := make([]byte, 8)
		if _, err := raw.ReadAt(head, at); err != nil && err != io.EOF {
			return "", err
		}
		if !Skippable(head) {
			return Begins(head), nil
		}
		at += 8 + int64(binary.LittleEndian.Uint32(head[4:]))
	}
	return "zst", nil // nothing to unpack
}

// Refine returns the compression of a file whose ending is that of several formats, by its first bytes.
func Refine(compression string, head []byte) string {
	switch {
	case compression == "snappy" && Begins(head) == "sz":
		return "sz"
	case compression == "lz4" && Begins(head) == "" && !Skippable(head) && !bytes.HasPrefix(head, []byte(LZ4Legacy)):
		return hadoopLZ4
	}
	return compression
}

func openZstd(r io.Reader, l Limits) (io.Reader, func(), error) {
	// One goroutine unpacks while another parses. More goroutines would exceed a worker's share of the cores.
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(l.Window))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

func openXZ(r io.Reader, l Limits) (io.Reader, func(), error) {
	z, err := xz.NewReader(&xzGuard{r: bufio.NewReaderSize(r, unpackBuffer), limits: l})
	return z, nil, err
}

func openSnappy(r io.Reader, _ Limits) (io.Reader, func(), error) {
	s := &snappyFrames{r: r}
	s.z = snappy.NewReader(readerFunc(s.readRaw))
	return s, nil, nil
}

func openLZ4(r io.Reader, _ Limits) (io.Reader, func(), error) {
	in := bufio.NewReaderSize(r, unpackBuffer)
	return &parts{next: func() (io.Reader, error) { return nextLZ4(in) }}, nil, nil
}

// openZlib reads consecutive zlib streams, like Hadoop's DefaultCodec.
func openZlib(r io.Reader, _ Limits) (io.Reader, func(), error) {
	in := bufio.NewReaderSize(r, unpackBuffer)
	return &parts{next: func() (io.Reader, error) {
		if _, err := in.Peek(1); err != nil {
			return nil, err
		}
		return zlib.NewReader(in)
	}}, nil, nil
}

// unpackBuffer is the size of reads for decompressors that request single bytes.
const unpackBuffer = 64 << 10

// parts reads the parts of a file, one after the other.
type parts struct {
	part io.Reader                 // nil: between two parts
	next func() (io.Reader, error) // begins the next part; it returns io.EOF if there is none
}

func (s *parts) Read(p []byte) (n int, err error) {
	for {
		if s.part == nil {
			if s.part, err = s.next(); err != nil {
				s.part = nil
				return 0, err
			}
		}
		n, err = s.part.Read(p)
		if err == io.EOF {
			s.part, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// snappyFrames distinguishes a truncated stream from a damaged one. The library returns the same error for both.
type snappyFrames struct {
	r     io.Reader
	z     *snappy.Reader
	ended bool
}

func (s *snappyFrames) readRaw(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.ended = s.ended || err == io.EOF
	return n, err
}

func (s *snappyFrames) Read(p []byte) (int, error) {
	n, err := s.z.Read(p)
	if err == snappy.ErrCorrupt && s.ended {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// LZ4Legacy is the magic of an lz4 format that has no end mark and no checksums.
const LZ4Legacy = "\x02\x21\x4c\x18"

func Skippable(head []byte) bool {
	return len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18"
}

// nextLZ4 begins the next frame with data, after skippable ones; it returns io.EOF if there is none.
func nextLZ4(r *bufio.Reader) (io.Reader, error) {
	for {
		head, err := r.Peek(8)
		switch {
		case len(head) == 0:
			return nil, err
		case !Skippable(head):
			if len(head) >= 4 && string(head[:4]) != lz4Magic {
				return nil, lz4.ErrInvalidFrame
			}
			return lz4.NewReader(r), nil
		case len(head) < 8:
			return nil, io.ErrUnexpectedEOF
		}
		skip := 8 + int64(binary.LittleEndian.Uint32(head[4:]))
		if n, err := io.CopyN(io.Discard, r, skip); n < skip {
			return nil, noEOF(err)
		}
	}
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lz4Block returns the memory that a decompressor needs for a frame, twice the block size, which the format limits to 4 MiB.
func lz4Block(raw io.ReaderAt, size int64) (int64, error) {
	head := make([]byte, 6)
	if size < int64(len(head)) {
		return 0, nil
	}
	if _, err := raw.ReadAt(head, 0); err != nil && err != io.EOF {
		return 0, err
	}
	if code := (head[5] >> 4) & 7; string(head[:4]) == lz4Magic && code >= 4 {
		return 2 << (8 + 2*code), nil
	}
	return 0, nil
}
