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

// Conn is a connection with a login, for a client library that begins it as one without security: the
// beginning, which was sent, is swallowed. Writes may come from several goroutines; each is sent as a whole.
type Conn struct {
	net.Conn
	layer sasl.Layer // nil: in the clear

	mu    sync.Mutex // of writing
	begun int        // bytes of the library's beginning
	out   []byte

	piece []byte // read, and used again
	plain []byte // opened, and not given to the reader
}

// Quality returns how the connection is protected.
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

// maxPiece bounds a sealed piece: a server seals no more than the client's buffer, 16 MiB, and its own answers.
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
