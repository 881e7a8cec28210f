package compression

import (
	"bufio"
	"compress/bzip2"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/gzip"
)

// skipZeros skips NUL bytes between the parts of a compressed file and after the last part, which tapes, tar and disk images add. At the end of the
// file it returns [io.EOF].
func skipZeros(r *bufio.Reader) error {
	for {
		c, err := r.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			return r.UnreadByte()
		}
	}
}

// gzipMembers begins gzip members, one after the other.
type gzipMembers struct {
	r     *bufio.Reader
	z     gzip.Reader
	first bool
}

func openGzip(r io.Reader, _ Limits) (io.Reader, func(), error) {
	g := &gzipMembers{r: bufio.NewReaderSize(r, unpackBuffer), first: true}
	first, err := g.next()
	if err != nil {
		return nil, nil, err
	}
	return &parts{first, g.next}, nil, nil
}

// next begins the next member; it returns [io.EOF] if there is none.
func (g *gzipMembers) next() (io.Reader, error) {
	if !g.first {
		if err := skipZeros(g.r); err != nil {
			return nil, err
		}
	}
	err := g.z.Reset(g.r)
	if err == io.EOF && !g.first {
		err = io.ErrUnexpectedEOF
	}
	g.z.Multistream(false)
	g.first = false
	return &g.z, err
}

// bzipStreams reads bzip2 streams. The standard library reads consecutive streams itself, but reports NUL bytes after a stream as damage. The last
// bytes that it has read show whether there were NUL bytes.
type bzipStreams struct {
	r lastBytes
	z io.Reader
}

// errAfterStream is the library's error for a file in which a complete stream is followed by anything but another stream.
const errAfterStream = bzip2.StructuralError("bad magic value in continuation file")

// openBzip uses the standard library's reader; a block has at most 900 kB.
func openBzip(r io.Reader, _ Limits) (io.Reader, func(), error) {
	b := &bzipStreams{r: lastBytes{Reader: bufio.NewReaderSize(r, unpackBuffer)}}
	b.z = bzip2.NewReader(&b.r)
	return b, nil, nil
}

func (b *bzipStreams) Read(p []byte) (int, error) {
	n, err := b.z.Read(p)
	last := b.r.last[len(b.r.last)-2:]
	switch {
	case err == io.ErrUnexpectedEOF && b.r.endsStream(): // a stream and a single NUL byte
		return n, io.EOF
	case err != errAfterStream || last[0] != 0:
		return n, err
	}
	if last[1] != 0 { // the first byte of the next stream
		if err := b.r.UnreadByte(); err != nil {
			return n, err
		}
	}
	if err := skipZeros(b.r.Reader); err != nil {
		return n, err
	}
	b.z = bzip2.NewReader(&b.r)
	return n, nil
}

// lastBytes reads single bytes and keeps the last ones: the end of a stream, and the byte after it.
type lastBytes struct {
	*bufio.Reader
	last [12]byte
}

func (l *lastBytes) ReadByte() (byte, error) {
	c, err := l.Reader.ReadByte()
	if err == nil {
		copy(l.last[:], l.last[1:])
		l.last[len(l.last)-1] = c
	}
	return c, err
}

// bzipEnd is the mark at the end of a stream, 48 bits that precede the checksum. Up to seven bits pad the last byte.
const bzipEnd = 0x177245385090

// endsStream reports whether the last byte is a NUL after the end of a stream.
func (l *lastBytes) endsStream() bool {
	ends := binary.BigEndian.Uint64(l.last[1:])>>16 == bzipEnd
	for shift := 1; shift < 8 && !ends; shift++ {
		ends = (binary.BigEndian.Uint64(l.last[:])<<shift)>>16 == bzipEnd
	}
	return ends && l.last[len(l.last)-1] == 0
}
