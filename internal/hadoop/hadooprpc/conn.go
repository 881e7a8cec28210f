package hadooprpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"bulkload/internal/hadoop/sasl"
	"bulkload/pkg/kerberos"
)

// Conn is a connection after the login. Write seals and Read opens the data; a connection with the
// quality authentication passes both through. One goroutine may use Read and one Write.
type Conn struct {
	net.Conn
	client []byte     // client id, in the header of each of our requests
	layer  sasl.Layer // nil: no protection

	begin     []byte // the start of the library's connection header written so far
	swallowed bool

	packet []byte // read buffer
	plain  []byte // opened, not yet read
	out    []byte
}

// Quality returns the connection's quality of protection.
func (c *Conn) Quality() kerberos.Quality {
	if c.layer == nil {
		return kerberos.Authentication
	}
	return c.layer.Quality()
}

// Library returns the connection for a client library that starts with the header and the context of a connection to a
// server without security. Both are discarded.
func (c *Conn) Library() net.Conn { return &libraryConn{Conn: c} }

type libraryConn struct {
	*Conn
}

// maxBegin limits the header and context that a library sends.
const maxBegin = 64 << 10

func (c *libraryConn) Write(p []byte) (int, error) {
	if c.swallowed {
		return c.Conn.Write(p)
	}
	c.begin = append(c.begin, p...)
	rest, whole, err := beginning(c.begin)
	if err != nil || !whole {
		return len(p), err
	}
	c.swallowed, c.begin = true, nil
	if len(rest) > 0 {
		if _, err := c.Conn.Write(rest); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// beginning cuts off the header and the context of a connection without security.
func beginning(p []byte) (rest []byte, whole bool, err error) {
	if n := min(len(p), headerLen); string(p[:n]) != (header + "\x00")[:n] {
		return nil, false, errors.New("hadoop rpc: the library does not begin as version 9 without security does")
	}
	if len(p) < headerLen+4 {
		return nil, false, nil
	}
	n := binary.BigEndian.Uint32(p[headerLen:])
	if n > maxBegin {
		return nil, false, fmt.Errorf("hadoop rpc: the library's context has %d bytes", n)
	}
	end := headerLen + 4 + int(n)
	if len(p) < end {
		return nil, false, nil
	}
	return p[end:], true, nil
}

func (c *Conn) Write(p []byte) (int, error) {
	if c.layer == nil {
		return c.Conn.Write(p)
	}
	done := 0
	for done < len(p) {
		n := min(len(p)-done, c.layer.Most())
		m := saslMessage{state: stateWrap, token: c.layer.Seal(nil, p[done:done+n])}
		c.out = appendPacket(c.out[:0], requestHeader(callSASL, nil), m.append(nil))
		if _, err := c.Conn.Write(c.out); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

func (c *Conn) Read(p []byte) (int, error) {
	if c.layer == nil {
		return c.Conn.Read(p)
	}
	if len(p) == 0 {
		return 0, nil
	}
	for len(c.plain) == 0 {
		var err error
		if c.packet, err = readPacket(c.Conn, c.packet, maxAnswer); err != nil {
			return 0, err
		}
		a, err := parseAnswer(c.packet)
		if err != nil {
			return 0, err // sent unsealed by a server that refuses the connection
		}
		m, err := a.sasl()
		if err != nil {
			return 0, err
		}
		if m.state != stateWrap {
			return 0, fmt.Errorf("hadoop rpc: the server sends %s on a sealed connection", m.state)
		}
		if c.plain, err = c.layer.Open(m.token); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.plain)
	c.plain = c.plain[n:]
	return n, nil
}
