package sasl

import (
	"encoding/binary"
	"errors"
	"io"

	"bulkload/pkg/kerberos"
)

// Client is one side of one conversation. It belongs to one goroutine until it is done.
type Client interface {
	// Mechanism returns the name that goes over the wire.
	Mechanism() string
	// Step answers a challenge; the first one of GSSAPI is nil. A nil response is not sent.
	Step(challenge []byte) (response []byte, err error)
	// Done says that the server has proven itself and that nothing is left to say.
	Done() bool
	// Layer returns how what follows is protected. It is valid when the client is done.
	Layer() Layer
}

// Layer protects what is sent after a conversation. Seal belongs to one goroutine, Open to one.
type Layer interface {
	Quality() kerberos.Quality
	// Most returns how many bytes may be sealed at once.
	Most() int
	// Seal appends to dst what carries data.
	Seal(dst, data []byte) ([]byte, error)
	// Open returns the data in the peer's next piece. It overwrites the piece; the result may share its memory.
	Open(piece []byte) ([]byte, error)
}

// WriteSealed writes p in pieces that the layer seals, each after its length in four bytes, by way of a buffer that is used again. It returns
// how much of p was written.
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

// plain is the layer of mere authentication.
type plain struct{}

func (plain) Quality() kerberos.Quality             { return kerberos.Authentication }
func (plain) Most() int                             { return 1 << 30 }
func (plain) Seal(dst, data []byte) ([]byte, error) { return append(dst, data...), nil }
func (plain) Open(piece []byte) ([]byte, error)     { return piece, nil }

// Errors of conversations.
var (
	errOrder = errors.New("sasl: the server sent a challenge after the last one")
	errSize  = errors.New("sasl: the server takes pieces of no useful size")
)

// maxPiece bounds what is sealed at once, whatever the server would take.
const maxPiece = 64 << 10

// minPiece is the least that a server must take: less would be no conversation.
const minPiece = 256
