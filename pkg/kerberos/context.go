package kerberos

import (
	"cmp"
	"context"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
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

	client *Client
	asked  asked
	grant  *grant // the ticket; nil without a client
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
		return nil, nil, fmt.Errorf("ticket for %s: %w", service, err)
	}
	s.client, s.asked, s.grant = c, asked{service, realm}, g
	auth.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: contextFlags()}
	s.sent = uint64(auth.SeqNumber) // of the first token
	request, err := messages.NewAPReq(g.ticket, g.key, auth)
	if err != nil {
		return nil, nil, fmt.Errorf("ticket for %s: %w", service, err)
	}
	body, err := request.Marshal()
	if err != nil {
		return nil, nil, fmt.Errorf("ticket for %s: %w", service, err)
	}
	return s, asn1tools.AddASNAppTag(append([]byte(oidKRB5+apRequest), body...), 0), nil
}

// accepted records that the service has accepted the ticket.
func (s *Context) accepted() {
	if s.grant == nil {
		return
	}
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	s.grant.accepted = true
}

// Refused drops the context's ticket after the service has refused it, if the service has accepted that ticket earlier: its key has changed since. It
// reports whether another context, with another ticket, may be accepted.
func (s *Context) Refused() bool {
	if s.grant == nil {
		return false
	}
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	if in := s.client.state; s.grant.accepted && in != nil && in.tickets[s.asked] == s.grant {
		delete(in.tickets, s.asked)
	}
	return s.grant.accepted
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
	if !s.opened {
		s.accepted()
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

// Realm returns the realm of a host's services in the configuration, the login's own for a host that is not there.
func (c *Client) Realm(host string) string {
	_, own, _ := strings.Cut(c.principal, "@")
	return cmp.Or(c.options.Config.krb5.ResolveRealm(host), own)
}

// exchange requests a ticket from the KDC of a service's realm.
func (s *state) exchange(a asked) (*grant, error) {
	_, host, ok := strings.Cut(a.service, "/")
	if !ok || host == "" {
		return nil, fmt.Errorf("%s names no host", a.service)
	}
	realm, tgt := cmp.Or(a.realm, s.krb.Config.ResolveRealm(host), s.realm), s.tgt
	if realm != s.realm {
		var err error
		if tgt, err = s.request(grantingTo(realm), s.realm, tgt, false); err != nil {
			return nil, fmt.Errorf("from realm %s to %s: %w", s.realm, realm, err)
		}
	}
	return s.request(types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, a.service), realm, tgt, false)
}

// request requests a ticket at the KDC of a realm with a ticket-granting ticket, or that ticket's renewal.
func (s *state) request(service types.PrincipalName, realm string, tgt *grant, renewal bool) (g *grant, err error) {
	defer guard(&err)
	_, rep, err := s.krb.TGSREQGenerateAndExchange(service, realm, tgt.ticket, tgt.key, renewal)
	if err != nil {
		return nil, err
	}
	return granted(rep.Ticket, rep.DecryptedEncPart), nil
}

// requestFirst requests a ticket-granting ticket with a keytab.
func requestFirst(krb *client.Client, realm string, request messages.ASReq) (g *grant, err error) {
	defer guard(&err)
	// The library answers a referral to another realm by repeating the same request, which can only fail: no referral is followed.
	rep, err := krb.ASExchange(realm, request, maxReferrals+1)
	if err != nil {
		return nil, err
	}
	return granted(rep.Ticket, rep.DecryptedEncPart), nil
}

// maxReferrals is the number of referrals that the library follows.
const maxReferrals = 5

func granted(t messages.Ticket, p messages.EncKDCRepPart) *grant {
	return &grant{ticket: t, key: p.Key, since: time.Now(), end: p.EndTime, till: p.RenewTill}
}

// errDamaged reports an answer that cannot be read. Another one may be whole.
var errDamaged = explained(ErrNoKDC, "the answer of a KDC is damaged")

// guard is deferred around an exchange of gokrb5, which trusts lengths in answers.
func guard(err *error) {
	if recover() != nil {
		*err = errDamaged
	}
}

// damaged reports whether an exchange failed because its answer cannot be read.
func damaged(err error) bool {
	return errors.Is(err, errDamaged) || strings.Contains(err.Error(), "failed to process the ")
}
