package filecheck

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
)

// checkedReader observes the reads of a check: it computes the checksum of the
// file's bytes, in their order, and keeps the first error of the file system,
// which is not damage. It belongs to one goroutine.
type checkedReader struct {
	ctx    context.Context
	at     io.ReaderAt
	report func(bytes int64)

	next int64 // bytes before this offset are in sum
	sum  uint32
	err  error
}

func (r *checkedReader) ReadAt(p []byte, off int64) (int, error) {
	if r.ctx.Err() != nil {
		r.err = context.Cause(r.ctx)
		return 0, r.err
	}
	n, err := r.at.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) && r.err == nil {
		r.err = err
	}
	if end := off + int64(n); off <= r.next && end > r.next {
		r.add(p[r.next-off : n])
	}
	return n, err
}

func (r *checkedReader) add(b []byte) {
	r.sum = crc32.Update(r.sum, crc32.MakeTable(crc32.Castagnoli), b)
	r.next += int64(len(b))
	if r.report != nil {
		r.report(int64(len(b)))
	}
}

// end reads the rest of the file, which the check has not read in order, and returns the checksum.
func (r *checkedReader) end(size int64) (uint32, error) {
	buf := make([]byte, min(512<<10, size-r.next))
	for r.next < size {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-r.next)], r.next)
		if n == 0 {
			return 0, errors.Join(err, io.ErrUnexpectedEOF)
		}
	}
	return r.sum, nil
}

// pieces reads an HDFS file in pieces and caches the most recently used: a
// check often returns to indexes and blooms, and on HDFS each backward seek
// needs a new connection. It belongs to one goroutine.
type pieces struct {
	at   io.ReaderAt
	size int64
	held map[int64]*piece
	age  int64
}

type piece struct {
	b    []byte
	used int64
}

const (
	pieceSize = 512 << 10
	maxPieces = 32
)

func newPieces(at io.ReaderAt, size int64) *pieces {
	return &pieces{at: at, size: size, held: map[int64]*piece{}}
}

func (c *pieces) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= c.size {
			return n, io.EOF
		}
		b, err := c.piece(at / pieceSize)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], b[at%pieceSize:])
	}
	return n, nil
}

// piece returns the i-th piece of the file. It replaces the least recently used
// piece.
func (c *pieces) piece(i int64) ([]byte, error) {
	c.age++
	if p, ok := c.held[i]; ok {
		p.used = c.age
		return p.b, nil
	}
	p := &piece{}
	if len(c.held) == maxPieces {
		oldest := int64(-1)
		for j, q := range c.held {
			if oldest < 0 || q.used < c.held[oldest].used {
				oldest = j
			}
		}
		p = c.held[oldest]
		delete(c.held, oldest)
	}
	want := int(min(pieceSize, c.size-i*pieceSize))
	if cap(p.b) < want {
		p.b = make([]byte, pieceSize)
	}
	p.b, p.used = p.b[:want], c.age
	if n, err := c.at.ReadAt(p.b, i*pieceSize); n < want {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	c.held[i] = p
	return p.b, nil
}
