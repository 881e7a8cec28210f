package sasl

import (
	"encoding/binary"
	"errors"

	"bulkload/pkg/kerberos"
)

// gssapi implements RFC 4752 with Kerberos.
type gssapi struct {
	ctx    *kerberos.Context
	token  []byte // the first token
	wanted []kerberos.Quality
	state  int
	layer  Layer
}

// GSSAPI returns the client of an exchange with a service, given its Kerberos context and first token. wanted are the
// acceptable qualities, the preferred one first; none: the strongest that the server offers.
func GSSAPI(ctx *kerberos.Context, token []byte, wanted []kerberos.Quality) Client {
	return &gssapi{ctx: ctx, token: token, wanted: wanted}
}

func (g *gssapi) Done() bool    { return g.state == 2 }
func (g *gssapi) Layer() Layer  { return g.layer }
func (g *gssapi) Refused() bool { return g.ctx.Refused() }

func (g *gssapi) Step(challenge []byte) ([]byte, error) {
	g.state++
	switch g.state {
	case 1:
		if len(challenge) > 0 {
			return nil, errOrder
		}
		return g.token, nil
	case 2:
		return g.agree(challenge)
	}
	return nil, errOrder
}

// agree answers the server's offer: a byte of qualities and three bytes of its buffer size (RFC 4752, section 3.3). The
// token is signed and never sealed.
func (g *gssapi) agree(challenge []byte) ([]byte, error) {
	offer, err := g.ctx.Open(challenge, false)
	if err != nil {
		return nil, err
	}
	if len(offer) != 4 {
		return nil, errors.New("sasl: the server's offer has another size than 4 bytes")
	}
	q, err := kerberos.ChooseQuality(kerberos.Quality(offer[0]), g.wanted)
	if err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(offer) & 0xffffff)
	answer := [4]byte{byte(q)}
	g.layer = plain{}
	if q != kerberos.Authentication {
		if size < g.ctx.Overhead()+minPiece {
			return nil, errSize
		}
		answer[1], answer[2], answer[3] = 0xff, 0xff, 0xff
		g.layer = &sealed{g.ctx, q, min(size-g.ctx.Overhead(), maxPiece)}
	}
	return g.ctx.Seal(nil, answer[:], false), nil
}

// sealed is the layer of a Kerberos context.
type sealed struct {
	ctx  *kerberos.Context
	q    kerberos.Quality
	most int
}

func (s *sealed) Quality() kerberos.Quality { return s.q }
func (s *sealed) Most() int                 { return s.most }

func (s *sealed) Seal(dst, data []byte) []byte {
	return s.ctx.Seal(dst, data, s.q == kerberos.Privacy)
}

func (s *sealed) Open(piece []byte) ([]byte, error) {
	return s.ctx.Open(piece, s.q == kerberos.Privacy)
}
