package sasl

import (
	"encoding/binary"
	"errors"
	"io"

	"bulkload/pkg/kerberos"
)

// Client is the client side of one SASL exchange. It must be used by one goroutine until it is done.
type Client interface {
	// Step answers a challenge; GSSAPI's first challenge is nil. A nil response is not sent.
	Step(challenge []byte) (response []byte, err error)
	// Done reports whether the server is authenticated and the exchange is complete.
	Done() bool
	// Layer returns the protection of the data after the exchange. It is valid once the client is done.
	Layer() Layer
}

// Layer protects the data sent after an exchange. One goroutine may use Seal and one Open.
type Layer interface {
	Quality() kerberos.Quality
	// Most returns the maximum number of bytes that may be sealed at once.
	Most() int
	// Seal appends the sealed form of data to dst.
	Seal(dst, data []byte) ([]byte, error)
	// Open returns the content of the peer's next piece. It may overwrite the piece; the result may be in it.
	Open(piece []byte) ([]byte, error)
}

// WriteSealed writes p in pieces sealed by the layer, each preceded by its length in four bytes. It reuses buf. It returns the number of
// bytes of p written.
func WriteSealed(w io.Writer, layer Layer, buf *[]byte, p []byte) (done int, err error) {
	for done < len(p) {
		n := min(len(p)-done, layer.Most())
		sealed, err := layer.Seal(append((*buf)[:0], 0, 0, 0, 0), p[done:done+n])
		if err != nil {
			return done, err
		}
		binary.BigEndian.PutUint32(sealed, uint32(len(sealed)-4))
		*buf = sealed
		if _, err := w.Write(sealed); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// plain is the layer of authentication alone.
type plain struct{}

func (plain) Quality() kerberos.Quality             { return kerberos.Authentication }
func (plain) Most() int                             { return 1 << 30 }
func (plain) Seal(dst, data []byte) ([]byte, error) { return append(dst, data...), nil }
func (plain) Open(piece []byte) ([]byte, error)     { return piece, nil }

// Errors of exchanges.
var (
	errOrder = errors.New("sasl: the server sent a challenge after the last one")
	errSize  = errors.New("sasl: the server takes pieces of no useful size")
)

// maxPiece limits the size of sealed pieces, even if the server accepts more.
const maxPiece = 64 << 10

// minPiece is the minimum size of pieces that a server must accept.
const minPiece = 256
