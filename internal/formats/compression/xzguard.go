package compression

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// xzGuard reads an xz file for its decompressor, which allocates as much memory as a block's header declares, up to 4 GiB. The guard parses the
// file's structure (xz-file-format 1.2.1) and the headers of LZMA2 chunks. It returns an error for a dictionary that is too large before the
// decompressor reads the header that declares it, and distinguishes a truncated file from one that ends between two streams. Checksums and all other
// checks are left to the decompressor.
type xzGuard struct {
	r      *bufio.Reader
	limits Limits

	state func(*xzGuard) error // reads the next part into ahead
	ahead []byte               // bytes parsed and not returned yet
	skip  int64                // number of bytes after ahead that need no parsing
	seen  int64                // bytes of the current stream, including ahead and skip

	check   int64 // length of the check after each block
	whole   bool  // the file may end here
	records uint64
}

var errXZ = errors.New("it is not an xz stream with LZMA2 alone")

// checkSizes are the lengths of the checks by their id.
var checkSizes = [16]int64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

func (g *xzGuard) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(g.ahead) == 0 && g.skip == 0 {
		if g.state == nil {
			g.state, g.whole = (*xzGuard).streamHeader, true
		}
		if err := g.state(g); err != nil {
			if err == io.EOF && !g.whole {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		g.seen += int64(len(g.ahead)) + g.skip
		g.whole = false
	}
	if len(g.ahead) > 0 {
		n := copy(p, g.ahead)
		g.ahead = g.ahead[n:]
		return n, nil
	}
	n, err := g.r.Read(p[:min(int64(len(p)), g.skip)])
	g.skip -= int64(n)
	return n, noEOF(err)
}

// take reads n more bytes into ahead and returns them. At the end of the file the error is io.EOF.
func (g *xzGuard) take(n int) ([]byte, error) {
	at := len(g.ahead)
	g.ahead = append(g.ahead, make([]byte, n)...)
	if _, err := io.ReadFull(g.r, g.ahead[at:]); err != nil {
		return nil, err
	}
	return g.ahead[at:], nil
}

func (g *xzGuard) begin() { g.ahead = make([]byte, 0, 64) }

func (g *xzGuard) streamHeader() error {
	g.begin()
	b, err := g.take(4)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b) == 0 {
		g.state = nil // padding after a stream: another may begin
		return nil
	}
	if string(b) != xzMagic[:4] {
		return errXZ
	}
	if b, err = g.take(8); err != nil {
		return noEOF(err)
	}
	if string(g.ahead[:6]) != xzMagic {
		return errXZ
	}
	g.check, g.seen = checkSizes[b[3]&15], 0
	g.state = (*xzGuard).blockHeader
	return nil
}

// blockHeader parses a block header, or the start of the index.
func (g *xzGuard) blockHeader() error {
	g.begin()
	b, err := g.take(1)
	if err != nil {
		return err
	}
	if b[0] == 0 {
		g.state = (*xzGuard).indexCount
		return nil
	}
	if b, err = g.take(int(b[0])*4 + 3); err != nil {
		return noEOF(err)
	}
	size, err := dictionarySize(b)
	if err != nil {
		return err
	}
	if size > int64(g.limits.Window) {
		return g.limits.Exceeded("an xz dictionary of "+Mebibytes(size), size, int64(g.limits.Window))
	}
	g.state = (*xzGuard).chunk
	return nil
}

// dictionarySize returns the size of a block's LZMA2 dictionary; b is the block header after its first byte.
func dictionarySize(b []byte) (int64, error) {
	flags := b[0]
	b = b[1:]
	for _, bit := range []byte{0x40, 0x80} { // compressed and uncompressed size
		if flags&bit != 0 {
			_, n := binary.Uvarint(b)
			if n <= 0 {
				return 0, errXZ
			}
			b = b[n:]
		}
	}
	if flags&3 != 0 || len(b) < 3 || b[0] != 0x21 || b[1] != 1 || b[2] > 40 {
		return 0, errXZ
	}
	if b[2] == 40 {
		return math.MaxUint32, nil
	}
	return (2 | int64(b[2]&1)) << (b[2]/2 + 11), nil
}

// chunk parses an LZMA2 chunk header.
func (g *xzGuard) chunk() error {
	g.begin()
	b, err := g.take(1)
	if err != nil {
		return err
	}
	switch control := b[0]; {
	case control == 0:
		g.state = (*xzGuard).blockEnd
	case control >= 0x80:
		more := 4
		if control >= 0xc0 {
			more++ // properties
		}
		if b, err = g.take(more); err != nil {
			return noEOF(err)
		}
		g.skip = int64(binary.BigEndian.Uint16(b[2:])) + 1
	case control <= 2:
		if b, err = g.take(2); err != nil {
			return noEOF(err)
		}
		g.skip = int64(binary.BigEndian.Uint16(b)) + 1
	default:
		return errXZ
	}
	return nil
}

// blockEnd skips the padding and the check after a block's last chunk.
func (g *xzGuard) blockEnd() error {
	g.begin()
	g.skip = -g.seen&3 + g.check
	g.state = (*xzGuard).blockHeader
	if g.skip == 0 {
		return g.blockHeader()
	}
	return nil
}

func (g *xzGuard) indexCount() error {
	n, err := g.number()
	g.records, g.state = n, (*xzGuard).indexRecord
	return err
}

func (g *xzGuard) indexRecord() error {
	if g.records == 0 {
		g.begin()
		g.skip = -g.seen&3 + 4 + 12 // padding, checksum, the stream's footer
		g.state = nil
		return nil
	}
	if _, err := g.number(); err != nil {
		return err
	}
	if _, err := g.more(); err != nil {
		return err
	}
	g.records--
	return nil
}

// number reads a number of up to nine bytes.
func (g *xzGuard) number() (uint64, error) {
	g.begin()
	return g.more()
}

func (g *xzGuard) more() (uint64, error) {
	at := len(g.ahead)
	for range 9 {
		b, err := g.take(1)
		if err != nil {
			return 0, noEOF(err)
		}
		if b[0] < 0x80 {
			n, _ := binary.Uvarint(g.ahead[at:])
			return n, nil
		}
	}
	return 0, errXZ
}

// firstDictionary returns the size of a file's first dictionary, or 0 if there is none, which the reader reports.
func firstDictionary(raw io.ReaderAt, size int64) (int64, error) {
	head := make([]byte, min(size, 12+1024))
	if _, err := raw.ReadAt(head, 0); err != nil && err != io.EOF {
		return 0, err
	}
	if len(head) < 14 || string(head[:6]) != xzMagic || head[12] == 0 || len(head) < 12+4*(int(head[12])+1) {
		return 0, nil
	}
	n, err := dictionarySize(head[13:])
	if err != nil {
		return 0, nil
	}
	return n, nil
}
