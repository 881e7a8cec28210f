package hbaserpc

import (
	"errors"
	"net"
	"sync"

	"bulkload/internal/hadoop/sasl"
	"bulkload/pkg/kerberos"
)

// SecureConn is a connection after the login, for a client library that starts it like one without security: the
// library's preamble is discarded, because one was sent already. Several goroutines may write; each write is
// sent as a whole.
type SecureConn struct {
	net.Conn
	sealed *sasl.Sealed // nil: no protection
	mu     sync.Mutex   // guards writes
	begun  int          // bytes of the library's preamble
}

// Quality returns the connection's quality of protection.
func (c *SecureConn) Quality() kerberos.Quality {
	if c.sealed == nil {
		return kerberos.Authentication
	}
	return c.sealed.Layer.Quality()
}

func (c *SecureConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	skip := 0
	if c.begun < preambleLen {
		const begin = preamble + bySimple
		skip = min(len(p), preambleLen-c.begun)
		if string(p[:skip]) != begin[c.begun:c.begun+skip] {
			return 0, errors.New("hbase rpc: the library does not begin as version 0 without security does")
		}
		c.begun += skip
	}
	n, err := c.send(p[skip:])
	return skip + n, err
}

func (c *SecureConn) send(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case c.sealed == nil:
		return c.Conn.Write(p)
	}
	return c.sealed.Write(p)
}

// maxPiece limits a sealed piece: a server seals no more than the client's buffer, 16 MiB, and its own
// responses.
const maxPiece = 256 << 20

func (c *SecureConn) Read(p []byte) (int, error) {
	if c.sealed == nil {
		return c.Conn.Read(p)
	}
	return c.sealed.Read(p)
}
