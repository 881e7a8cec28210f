package sasl

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"errors"

	"bulkload/pkg/kerberos"
)

// Errors of DIGEST-MD5 pieces.
var (
	errPiece   = errors.New("sasl: the server's message is not one of DIGEST-MD5")
	errMAC     = errors.New("sasl: the checksum of a piece of the server is wrong: it was changed on its way")
	errPlaceOf = errors.New("sasl: a piece of the server is missing, or came twice")
)

// Constants from which the keys of the layers are derived (RFC 2831, sections 2.3
// and 2.4).
const (
	magicSignOut = "Digest session key to client-to-server signing key magic constant"
	magicSignIn  = "Digest session key to server-to-client signing key magic constant"
	magicSealOut = "Digest H(A1) to client-to-server sealing key magic constant"
	magicSealIn  = "Digest H(A1) to server-to-client sealing key magic constant"
)

const (
	macLen     = 10
	trailerLen = 6 // message type 1 and the sequence number
)

func derive(key []byte, magic string) []byte {
	sum := md5.Sum(append(append([]byte(nil), key...), magic...))
	return sum[:]
}

// signed is the integrity layer.
type signed struct {
	out, in       []byte
	sent, arrived uint32
	most          int
}

func newSigned(key [md5.Size]byte, most int) *signed {
	return &signed{out: derive(key[:], magicSignOut), in: derive(key[:], magicSignIn), most: most}
}

func (s *signed) Quality() kerberos.Quality { return kerberos.Integrity }
func (s *signed) Most() int                 { return s.most }

func mac(key []byte, sequence uint32, data []byte) []byte {
	h := hmac.New(md5.New, key)
	var n [4]byte
	binary.BigEndian.PutUint32(n[:], sequence)
	h.Write(n[:])
	h.Write(data)
	return h.Sum(nil)[:macLen]
}

// trailer appends the end of a piece, and counts the piece.
func (s *signed) trailer(dst []byte) []byte {
	s.sent++
	return binary.BigEndian.AppendUint32(append(dst, 0, 1), s.sent-1)
}

// checkTrailer verifies the trailer and cuts it off.
func checkTrailer(piece []byte, sequence uint32) ([]byte, error) {
	cut := len(piece) - trailerLen
	switch {
	case cut < macLen || piece[cut] != 0 || piece[cut+1] != 1:
		return nil, errPiece
	case binary.BigEndian.Uint32(piece[cut+2:]) != sequence:
		return nil, errPlaceOf
	}
	return piece[:cut], nil
}

func (s *signed) Seal(dst, data []byte) []byte {
	dst = append(dst, data...)
	dst = append(dst, mac(s.out, s.sent, data)...)
	return s.trailer(dst)
}

func (s *signed) Open(piece []byte) ([]byte, error) {
	body, err := checkTrailer(piece, s.arrived)
	if err != nil {
		return nil, err
	}
	return s.check(body)
}

// check verifies the checksum at the end of a body.
func (s *signed) check(body []byte) ([]byte, error) {
	cut := len(body) - macLen
	if !hmac.Equal(body[cut:], mac(s.in, s.arrived, body[:cut])) {
		return nil, errMAC
	}
	s.arrived++
	return body[:cut], nil
}

// encrypted is the privacy layer with RC4.
type encrypted struct {
	signed
	encrypt, decrypt *rc4.Cipher
}

func newEncrypted(key [md5.Size]byte, most int) *encrypted {
	out, _ := rc4.NewCipher(derive(key[:], magicSealOut)) // only key sizes cause errors
	in, _ := rc4.NewCipher(derive(key[:], magicSealIn))
	return &encrypted{*newSigned(key, most), out, in}
}

func (e *encrypted) Quality() kerberos.Quality { return kerberos.Privacy }

func (e *encrypted) Seal(dst, data []byte) []byte {
	from := len(dst)
	dst = append(dst, data...)
	dst = append(dst, mac(e.out, e.sent, data)...)
	e.encrypt.XORKeyStream(dst[from:], dst[from:])
	return e.trailer(dst)
}

func (e *encrypted) Open(piece []byte) ([]byte, error) {
	body, err := checkTrailer(piece, e.arrived)
	if err != nil {
		return nil, err
	}
	e.decrypt.XORKeyStream(body, body)
	return e.check(body)
}
