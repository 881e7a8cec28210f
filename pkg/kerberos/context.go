package kerberos

import (
	"context"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Context is the initiator's side of a Kerberos GSS-API security context (RFC 4121), without mutual authentication: the acceptor is
// authenticated by its first wrapped token, which requires the service's key. A Context supports one goroutine that seals and one that
// opens.
type Context struct {
	out, in *protector

	sent   uint64
	next   uint64 // sequence number of the acceptor's next token
	opened bool   // next is known
}

// Initiate begins a context with a service. token is the first message to the acceptor.
func (c *Client) Initiate(ctx context.Context, service, realm string) (*Context, []byte, error) {
	g, who, err := c.get(ctx, asked{service, realm})
	if err != nil {
		return nil, nil, err
	}
	s, err := newContext(g.key)
	if err != nil {
		return nil, nil, err
	}
	auth, err := types.NewAuthenticator(who.realm, who.user)
	if err != nil {
		return nil, nil, fmt.Errorf("kerberos ticket for %s: %w", service, err)
	}
	auth.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: contextFlags()}
	s.sent = uint64(auth.SeqNumber) // of the first token
	request, err := messages.NewAPReq(g.ticket, g.key, auth)
	if err != nil {
		return nil, nil, fmt.Errorf("kerberos ticket for %s: %w", service, err)
	}
	body, err := request.Marshal()
	if err != nil {
		return nil, nil, fmt.Errorf("kerberos ticket for %s: %w", service, err)
	}
	return s, asn1tools.AddASNAppTag(append([]byte(oidKRB5+apRequest), body...), 0), nil
}

// contextFlags returns the checksum of an authenticator (RFC 4121, section 4.1.1): no channel bindings, and the flags of the context.
func contextFlags() []byte {
	b := make([]byte, 24)
	binary.LittleEndian.PutUint32(b, 16)
	binary.LittleEndian.PutUint32(b[20:], gssapi.ContextFlagInteg|gssapi.ContextFlagConf|gssapi.ContextFlagReplay|gssapi.ContextFlagSequence)
	return b
}

func newContext(key types.EncryptionKey) (*Context, error) {
	out, err := newProtector(key, usageInitiator, cipher.NewCBCEncrypter)
	if err != nil {
		return nil, err
	}
	in, err := newProtector(key, usageAcceptor, cipher.NewCBCDecrypter)
	return &Context{out: out, in: in}, err
}

// Of wrap tokens (RFC 4121, section 4.2.6.2).
const (
	headerLen = 16

	flagAcceptor = 1 // sent by the acceptor
	flagSealed   = 2
	flagSubkey   = 4 // the acceptor's key protects it

	usageAcceptor  = 22 // of keys, section 2
	usageInitiator = 24
)

// Errors of tokens.
var (
	errShort    = errors.New("a token of the service is too short")
	errToken    = errors.New("a token of the service is not a wrap token of RFC 4121")
	errSubkey   = errors.New("a token of the service is protected by a key that was not agreed upon")
	errUnsealed = errors.New("a token of the service is not sealed, and privacy was agreed upon")
	errChecksum = errors.New("the checksum of a token of the service is wrong: its key is not that of the ticket, or the token was changed on its way")
	errSequence = errors.New("a token of the service is missing, or came twice")
)

// Overhead returns the greatest number of bytes that a token adds to its data.
func (s *Context) Overhead() int { return headerLen + headerLen + s.out.overhead() }

// Seal appends to dst a wrap token of data: encrypted, or with only a checksum.
func (s *Context) Seal(dst, data []byte, private bool) []byte {
	var header [headerLen]byte
	header[0], header[1], header[3] = 5, 4, 0xff
	binary.BigEndian.PutUint64(header[8:], s.sent)
	s.sent++
	dst = slices.Grow(dst, len(data)+s.Overhead())
	if private {
		header[2] = flagSealed
		dst = append(dst, header[:]...)
		from := len(dst)
		dst = dst[:from+confounderLen]
		rand.Read(dst[from:])
		dst = append(dst, data...)
		dst = append(dst, header[:]...)
		return s.out.encrypt(dst, from)
	}
	at := len(dst)
	dst = append(dst, header[:]...) // with a checksum size of 0 while the checksum is computed
	dst = append(dst, data...)
	sum := s.out.mac(s.out.checksum, data, dst[at:at+headerLen])
	binary.BigEndian.PutUint16(dst[at+4:], uint16(len(sum)))
	return append(dst, sum...)
}

// Open returns the data of the acceptor's next wrap token. It overwrites the token; the data may be a part of it.
func (s *Context) Open(token []byte, private bool) ([]byte, error) {
	if len(token) < headerLen {
		return nil, errShort
	}
	var header [headerLen]byte
	copy(header[:], token)
	flags := header[2]
	switch {
	case header[0] != 5 || header[1] != 4 || header[3] != 0xff || flags&flagAcceptor == 0:
		return nil, errToken
	case flags&flagSubkey != 0:
		return nil, errSubkey
	case private && flags&flagSealed == 0:
		return nil, errUnsealed
	}
	extra, rotated := int(binary.BigEndian.Uint16(header[4:])), int(binary.BigEndian.Uint16(header[6:]))
	sequence := binary.BigEndian.Uint64(header[8:])
	body := token[headerLen:]
	if len(body) > 0 {
		body = unrotate(body, rotated%len(body))
	}
	header[6], header[7] = 0, 0
	var data []byte
	var err error
	if flags&flagSealed != 0 {
		data, err = s.decrypt(header, body, extra)
	} else {
		data, err = s.verify(header, body, extra)
	}
	if err != nil {
		return nil, err
	}
	if s.opened && sequence != s.next {
		return nil, errSequence
	}
	s.opened, s.next = true, sequence+1
	return data, nil
}

func (s *Context) decrypt(header [headerLen]byte, body []byte, extra int) ([]byte, error) {
	if len(body) < s.in.overhead()+headerLen+extra {
		return nil, errShort
	}
	plain, ok := s.in.decrypt(body)
	if !ok {
		return nil, errChecksum
	}
	cut := len(plain) - headerLen
	if string(plain[cut:]) != string(header[:]) {
		return nil, errChecksum
	}
	return plain[:cut-extra], nil
}

func (s *Context) verify(header [headerLen]byte, body []byte, extra int) ([]byte, error) {
	if extra != s.in.size || len(body) < extra {
		return nil, errShort
	}
	data, sum := body[:len(body)-extra], body[len(body)-extra:]
	header[4], header[5] = 0, 0
	s.in.tail = header
	if !hmac.Equal(sum, s.in.mac(s.in.checksum, data, s.in.tail[:])) {
		return nil, errChecksum
	}
	return data, nil
}

// unrotate undoes a rotation to the right by n bytes (RFC 4121, section 4.2.5).
func unrotate(body []byte, n int) []byte {
	if n == 0 {
		return body
	}
	return slices.Concat(body[n:], body[:n])
}
