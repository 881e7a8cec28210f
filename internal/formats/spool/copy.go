package spool

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
)

// pieceSize is the size in bytes of a buffer, and pieces the number of buffers: one is filled while another is written. A pipe
// holds 64 KiB to 1 MiB.
const (
	pieceSize = 256 << 10
	pieces    = 3
)

// CopyOptions are the callbacks of [Copy]. The zero value has none.
type CopyOptions struct {
	// Allow is called with the number of bytes of each piece before they are written; its error ends the copy. Default: all are allowed.
	Allow func(n int64) error
	// Progress is called after each piece with the digest of the bytes copied so far. Default: none.
	Progress func(Digest)
}

// ReadError is an error of the stream, not of the destination.
type ReadError struct {
	At  int64 // the number of bytes read before the error
	Err error
}

func (e *ReadError) Error() string { return fmt.Sprintf("at byte %d: %v", e.At, e.Err) }
func (e *ReadError) Unwrap() error { return e.Err }

// Copy reads a stream to its end and writes it to dst; if dst is nil, it only computes the digest. On an error it returns the digest of
// the bytes copied so far. An error of the stream is a [*ReadError]; others are those of dst, of Allow, or the context's cause.
//
// A blocked read cannot be interrupted: when the context ends, Copy returns, but its goroutine stays blocked in a read of src until
// the stream has data or ends. So the caller must not use src afterwards.
func Copy(ctx context.Context, dst io.Writer, src io.Reader, o CopyOptions) (d Digest, err error) {
	type piece struct {
		data []byte
		err  error
	}
	free, full := make(chan []byte, pieces), make(chan piece, pieces)
	for range pieces {
		free <- make([]byte, pieceSize)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			var buf []byte
			select {
			case buf = <-free:
			case <-done:
				return
			}
			n, err := 0, error(nil)
			for n < len(buf) && err == nil { // io.ReadFull would not distinguish the end from a stream that fails with io.ErrUnexpectedEOF
				var m int
				m, err = src.Read(buf[n:])
				n += m
			}
			full <- piece{buf[:n], err} // never blocks: the channel has room for all pieces
			if err != nil {
				return
			}
		}
	}()
	for {
		var p piece
		select {
		case p = <-full:
		case <-ctx.Done():
			return d, context.Cause(ctx)
		}
		if len(p.data) > 0 {
			if err := write(dst, p.data, o.Allow); err != nil {
				return d, err
			}
			if d = d.add(p.data); o.Progress != nil {
				o.Progress(d)
			}
		}
		if p.err == io.EOF {
			return d, nil
		}
		if p.err != nil {
			return d, &ReadError{d.Bytes, p.err}
		}
		free <- p.data[:pieceSize]
	}
}

func write(dst io.Writer, p []byte, allow func(int64) error) error {
	if dst == nil {
		return nil
	}
	if allow != nil {
		if err := allow(int64(len(p))); err != nil {
			return err
		}
	}
	_, err := dst.Write(p)
	return err
}

// Digest identifies the content of a stream: its length and its checksum (CRC32C).
type Digest struct {
	Bytes  int64 `json:"bytes"`
	CRC32C Sum   `json:"crc32c"`
}

// String returns the digest for messages.
func (d Digest) String() string {
	return fmt.Sprintf("%d bytes with the checksum %s", d.Bytes, d.CRC32C)
}

// add returns the digest of the stream extended by p.
func (d Digest) add(p []byte) Digest {
	return Digest{d.Bytes + int64(len(p)), Sum(crc32.Update(uint32(d.CRC32C), castagnoli, p))}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum is a CRC32C. Its text is eight hexadecimal digits.
type Sum uint32

func (s Sum) String() string { return fmt.Sprintf("%08x", uint32(s)) }

// MarshalText returns the digits.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the digits.
func (s *Sum) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 32)
	if err != nil || len(text) != 8 {
		return fmt.Errorf("%q is not a checksum", text)
	}
	*s = Sum(n)
	return nil
}
