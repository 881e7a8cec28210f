package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jcmturner/gokrb5/v8/types"
)

// WriteCache writes the login as a ticket cache of MIT's version 4, with only its ticket-granting ticket, for other programs that accept no
// keytab. The ticket is not renewable there.
func (c *Client) WriteCache(w io.Writer) error {
	_, s := c.cached(asked{})
	if s == nil {
		return net.ErrClosed
	}
	if !s.tgt.valid(time.Now()) {
		return errors.New("the ticket has expired")
	}
	ticket, err := s.tgt.ticket.Marshal()
	if err != nil {
		return fmt.Errorf("ticket cache: %w", err)
	}
	const flags = 1<<22 | 1<<21 // initial, pre-authenticated
	client := appendPrincipal(nil, s.user, s.realm)
	b := append([]byte{5, 4, 0, 0}, client...)
	b = append(b, client...)
	b = appendPrincipal(b, s.tgt.ticket.SName, s.tgt.ticket.Realm)
	b = binary.BigEndian.AppendUint16(b, uint16(s.tgt.key.KeyType))
	b = appendData(b, s.tgt.key.KeyValue)
	for _, at := range []time.Time{s.tgt.since, s.tgt.since, s.tgt.end, {}} {
		n := uint32(0)
		if !at.IsZero() {
			n = uint32(at.Unix())
		}
		b = binary.BigEndian.AppendUint32(b, n)
	}
	b = append(b, 0) // no session key of a user
	for _, n := range []uint32{flags, 0, 0} {
		b = binary.BigEndian.AppendUint32(b, n) // no addresses, no authorization data
	}
	b = appendData(b, ticket)
	_, err = w.Write(appendData(b, nil))
	return err
}

func appendPrincipal(b []byte, p types.PrincipalName, realm string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(p.NameType))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.NameString)))
	b = appendData(b, []byte(realm))
	for _, part := range p.NameString {
		b = appendData(b, []byte(part))
	}
	return b
}

func appendData(b, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(data))), data...)
}
