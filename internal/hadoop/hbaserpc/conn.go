package hbaserpc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"bulkload/internal/hadoop/sasl"
	"bulkload/pkg/kerberos"
)

// Conn is a connection after the login, for a client library that starts it like one without security: the
// library's preamble is discarded, because one was sent already. Several goroutines may write; each write is
// sent as a whole.
type Conn struct {
	net.Conn
	layer sasl.Layer // nil: no protection

	mu    sync.Mutex // guards writes
	begun int        // bytes of the library's preamble
	out   []byte

	piece []byte // read buffer
	plain []byte // opened, not yet read
}

// Quality returns the connection's quality of protection.
func (c *Conn) Quality() kerberos.Quality {
	if c.layer == nil {
		return kerberos.Authentication
	}
	return c.layer.Quality()
}

// Write implements [net.Conn].
func (c *Conn) Write(p []byte) (int, error) {
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

func (c *Conn) send(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.layer == nil {
		return c.Conn.Write(p)
	}
	return sasl.WriteSealed(c.Conn, c.layer, &c.out, p)
}

// maxPiece limits a sealed piece: a server seals no more than the client's buffer, 16 MiB, and its own
// responses.
const maxPiece = 256 << 20

// Read implements [net.Conn].
func (c *Conn) Read(p []byte) (int, error) {
	if c.layer == nil {
		return c.Conn.Read(p)
	}
	if len(p) == 0 {
		return 0, nil
	}
	for len(c.plain) == 0 {
		n, err := readInt(c.Conn)
		if err != nil {
			return 0, err
		}
		if n < 0 || n > maxPiece {
			return 0, fmt.Errorf("hbase rpc: a sealed piece of %d bytes", n)
		}
		if cap(c.piece) < int(n) {
			c.piece = make([]byte, n)
		}
		c.piece = c.piece[:n]
		if _, err := io.ReadFull(c.Conn, c.piece); err != nil {
			return 0, err
		}
		if c.plain, err = c.layer.Open(c.piece); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.plain)
	c.plain = c.plain[n:]
	return n, nil
}
