package filecheck

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/test/testcheck"
)

// fileOf returns the manifest entry of a file without cells and checksum.
func fileOf(b []byte) manifest.File { return manifest.File{Bytes: int64(len(b))} }

// noise returns random bytes.
func noise(t *testing.T, n int) []byte {
	r := testcheck.Rand(t)
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// reads counts the reads of a file, and fails on request.
type reads struct {
	b    []byte
	n    int
	fail func(off int64) error
}

func (r *reads) ReadAt(p []byte, off int64) (int, error) {
	r.n++
	if r.fail != nil {
		if err := r.fail(off); err != nil {
			return 0, err
		}
	}
	return bytes.NewReader(r.b).ReadAt(p, off)
}

// TestPieces checks that pieces return the bytes of the file at any offset, and end at its end.
func TestPieces(t *testing.T) {
	r := testcheck.Rand(t)
	for _, size := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 5*pieceSize + 77} {
		b := noise(t, size)
		p := newPieces(&reads{b: b}, int64(size))
		for range 100 {
			off, want := r.Int64N(int64(size)+10), make([]byte, r.IntN(3*pieceSize)+1)
			got := make([]byte, len(want))
			n, err := p.ReadAt(got, off)
			m, wantErr := bytes.NewReader(b).ReadAt(want, off)
			if n != m || !errors.Is(err, wantErr) || !bytes.Equal(got[:n], want[:m]) {
				t.Fatalf("%d bytes of %d at %d: %d, %v; want %d, %v", len(want), size, off, n, err, m, wantErr)
			}
		}
	}
}

// TestPiecesAreKept checks that a cached piece is not read again until it is replaced.
func TestPiecesAreKept(t *testing.T) {
	f := &reads{b: noise(t, (maxPieces+2)*pieceSize)}
	p := newPieces(f, int64(len(f.b)))
	touch := func(piece int) {
		t.Helper()
		var one [1]byte
		if _, err := p.ReadAt(one[:], int64(piece)*pieceSize+9); err != nil || one[0] != f.b[piece*pieceSize+9] {
			t.Fatalf("piece %d: %v", piece, err)
		}
	}
	for range 3 {
		for i := range maxPieces {
			touch(i)
		}
	}
	if f.n != maxPieces {
		t.Fatalf("%d reads of %d pieces", f.n, maxPieces)
	}
	touch(0)
	touch(maxPieces) // replaces the second one, which is the oldest
	touch(0)
	if f.n != maxPieces+1 || len(p.held) != maxPieces {
		t.Errorf("%d reads, %d pieces are held", f.n, len(p.held))
	}
	touch(1)
	if f.n != maxPieces+2 {
		t.Errorf("%d reads", f.n)
	}
}

// TestPiecesFail checks that a read error is returned, that the piece is read again later, and that a truncated file is an error.
func TestPiecesFail(t *testing.T) {
	broken := errors.New("no DataNode answers")
	f := &reads{b: noise(t, 3*pieceSize)}
	f.fail = func(off int64) error {
		if off >= pieceSize && off < 2*pieceSize {
			return broken
		}
		return nil
	}
	p := newPieces(f, int64(len(f.b)))
	got := make([]byte, len(f.b))
	if n, err := p.ReadAt(got, 0); n != pieceSize || !errors.Is(err, broken) {
		t.Errorf("%d, %v", n, err)
	}
	f.fail = nil
	if n, err := p.ReadAt(got, 0); n != len(got) || err != nil || !bytes.Equal(got, f.b) {
		t.Errorf("again: %d, %v", n, err)
	}
	short := newPieces(&reads{b: f.b[:pieceSize+9]}, int64(len(f.b)))
	if _, err := short.ReadAt(got, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a shorter file: %v", err)
	}
}

// TestCheckedReader checks that the checksum covers all bytes, in whatever order and however often they were read before the end.
func TestCheckedReader(t *testing.T) {
	r := testcheck.Rand(t)
	for range 200 {
		b := noise(t, r.IntN(3000))
		var told int64
		c := &checkedReader{ctx: t.Context(), at: bytes.NewReader(b), report: func(n int64) { told += n }}
		for range r.IntN(10) {
			_, _ = c.ReadAt(make([]byte, r.IntN(400)), r.Int64N(int64(len(b))+1))
		}
		sum, err := c.end(int64(len(b)))
		if err != nil || sum != castagnoli(b) || told != int64(len(b)) {
			t.Fatalf("%08x of %d bytes, %v; want %08x of %d", sum, told, err, castagnoli(b), len(b))
		}
	}
}

// TestCheckedReaderFails checks that the first error of the file system is kept, that the end of the file is not an error, and that
// the end of the context is one.
func TestCheckedReaderFails(t *testing.T) {
	broken, stop := errors.New("no DataNode answers"), errors.New("the job was stopped")
	f := &reads{b: noise(t, 100)}
	c := &checkedReader{ctx: t.Context(), at: f}
	if n, err := c.ReadAt(make([]byte, 60), 50); n != 50 || !errors.Is(err, io.EOF) || c.err != nil {
		t.Errorf("at its end: %d, %v, %v", n, err, c.err)
	}
	f.fail = func(int64) error { return broken }
	for range 2 {
		if _, err := c.ReadAt(make([]byte, 10), 0); !errors.Is(err, broken) || !errors.Is(c.err, broken) {
			t.Errorf("%v, %v", err, c.err)
		}
		f.fail = func(int64) error { return io.ErrClosedPipe }
		_, _ = c.ReadAt(make([]byte, 10), 0)
		f.fail = func(int64) error { return broken }
	}
	if _, err := c.end(100); !errors.Is(err, broken) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("its end: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	c = &checkedReader{ctx: ctx, at: bytes.NewReader(f.b)}
	if _, err := c.ReadAt(make([]byte, 10), 0); !errors.Is(err, stop) || !errors.Is(c.err, stop) {
		t.Errorf("stopped: %v, %v", err, c.err)
	}
	if _, err := sumOf(ctx, bytes.NewReader(f.b), 100, nil); !errors.Is(err, stop) {
		t.Errorf("a sum that is stopped: %v", err)
	}
}
