package sasl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"bulkload/pkg/kerberos"
)

// Client is the client side of one SASL exchange. It must be used by one goroutine until it is done.
type Client interface {
	// Step answers a challenge; GSSAPI's first challenge is nil. A nil response is not sent.
	Step(challenge []byte) (response []byte, err error)
	// Done reports whether the server is authenticated and the exchange is complete.
	Done() bool
	// Refused records that the server refuses the login. It reports whether another exchange may be accepted, as [kerberos.Context.Refused].
	Refused() bool
	// Layer returns the protection of the data after the exchange. It is valid once the client is done.
	Layer() Layer
}

// Layer protects the data sent after an exchange. One goroutine may use Seal and one Open.
type Layer interface {
	Quality() kerberos.Quality
	// Most returns the maximum number of bytes that may be sealed at once.
	Most() int
	// Seal appends the sealed form of data to dst.
	Seal(dst, data []byte) []byte
	// Open returns the content of the peer's next piece. It may overwrite the piece; the result may be in it.
	Open(piece []byte) ([]byte, error)
}

// Sealed sends and receives data in pieces sealed by a layer, each preceded by its length in four bytes. One goroutine may use Read and one
// Write.
type Sealed struct {
	Conn       io.ReadWriter
	Layer      Layer
	Most       uint32 // the largest sealed piece that is read
	out, piece []byte
	plain      []byte // opened, not yet read
}

// Write implements [io.Writer]. It returns the number of bytes of p whose pieces were written.
func (s *Sealed) Write(p []byte) (done int, err error) {
	for done < len(p) {
		n := min(len(p)-done, s.Layer.Most())
		s.out = s.Layer.Seal(append(s.out[:0], 0, 0, 0, 0), p[done:done+n])
		binary.BigEndian.PutUint32(s.out, uint32(len(s.out)-4))
		if _, err := s.Conn.Write(s.out); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

func (s *Sealed) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.plain) == 0 {
		var length [4]byte
		if _, err := io.ReadFull(s.Conn, length[:]); err != nil {
			return 0, err
		}
		n := binary.BigEndian.Uint32(length[:])
		if n > s.Most {
			return 0, fmt.Errorf("sasl: a sealed piece of %d bytes is longer than %d", n, s.Most)
		}
		s.piece = slices.Grow(s.piece[:0], int(n))[:n]
		_, err := io.ReadFull(s.Conn, s.piece)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		if s.plain, err = s.Layer.Open(s.piece); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.plain)
	s.plain = s.plain[n:]
	return n, nil
}

// plain is the layer of authentication alone.
type plain struct{}

func (plain) Quality() kerberos.Quality         { return kerberos.Authentication }
func (plain) Most() int                         { return 1 << 30 }
func (plain) Seal(dst, data []byte) []byte      { return append(dst, data...) }
func (plain) Open(piece []byte) ([]byte, error) { return piece, nil }

// Errors of exchanges.
var (
	errOrder = errors.New("sasl: the server sent a challenge after the last one")
	errSize  = errors.New("sasl: the server takes pieces of no useful size")
)

// maxPiece limits the size of sealed pieces, even if the server accepts more.
const maxPiece = 64 << 10

// minPiece is the minimum size of pieces that a server must accept.
const minPiece = 256
