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

// maxCache bounds a ticket cache: one with a hundred tickets has about 200 kB.
const maxCache = 16 << 20

var errCache = errors.New("it is not a ticket cache, or damaged: run kinit again")

// checkCache checks the lengths in a ticket cache of version 3 or 4 (MIT Kerberos, doc/formats/ccache_file_format), which gokrb5's parser
// trusts.
func checkCache(data []byte) error {
	if len(data) < 2 || len(data) > maxCache || data[0] != 5 || data[1] != 3 && data[1] != 4 {
		return errCache
	}
	w := walk{rest: data[2:], ok: true}
	if data[1] == 4 {
		w.skip(w.number(2))
	}
	w.principal()
	for w.ok && len(w.rest) > 0 {
		w.principal()
		w.principal()
		w.skip(2 * (5 - int(data[1]))) // the key's type, which version 3 has twice
		w.text()
		w.skip(4*4 + 1 + 4) // times, whether it is of a user's key, flags
		for range 2 {       // addresses, authorization data
			for n := w.number(4); w.ok && n > 0; n-- {
				w.skip(2)
				w.text()
			}
		}
		w.text()
		w.text()
	}
	if !w.ok {
		return errCache
	}
	return nil
}

// walk skips over bytes by their lengths. ok becomes false once a length exceeds the rest.
type walk struct {
	rest []byte
	ok   bool
}

func (w *walk) skip(n int) {
	if w.ok = w.ok && n <= len(w.rest); w.ok {
		w.rest = w.rest[n:]
	}
}

// number returns an integer of 2 or 4 bytes, 0 if the bytes are missing.
func (w *walk) number(size int) int {
	b := w.rest
	if w.skip(size); !w.ok {
		return 0
	}
	if size == 2 {
		return int(binary.BigEndian.Uint16(b))
	}
	return int(binary.BigEndian.Uint32(b))
}

// text skips bytes that follow their length.
func (w *walk) text() { w.skip(w.number(4)) }

func (w *walk) principal() {
	w.skip(4) // the type
	n := w.number(4)
	w.text()
	for ; w.ok && n > 0; n-- {
		w.text()
	}
}

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
