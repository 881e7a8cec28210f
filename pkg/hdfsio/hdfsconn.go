package hdfsio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync"
	"time"

	"bulkload/internal/hadoop/frames"
)

// conn puts a deadline on every read and write.
//
// A DataNode connection keeps its first error and from then on swallows what is written. The library's block writer,
// when a write fails, returns without ending its goroutine that reads acknowledgements; when writes go through and only
// that goroutine sees the error, everything ends well. The writer above asks the session for the error.
type conn struct {
	net.Conn
	s        *session
	dataNode bool
	frames   *frames.Filter // of a NameNode's answers

	mu  sync.Mutex
	err error
}

func (c *conn) Read(p []byte) (int, error) {
	if err := c.failure(); err != nil {
		return 0, err
	}
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.s.timeout)); err != nil {
		return 0, c.fail(err)
	}
	n, err := c.s.read(c, p)
	if !c.dataNode {
		if e := c.frames.Pass(p[:n]); e != nil {
			return 0, c.fail(e)
		}
		c.s.blocks.answer(p[:n])
		c.s.opens.answer(p[:n])
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the peer never ends a conversation that is under way
	}
	if err != nil {
		err = c.fail(err)
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	err := c.failure()
	if err == nil {
		err = c.Conn.SetWriteDeadline(time.Now().Add(c.s.timeout))
		if err == nil {
			b := p
			if !c.dataNode {
				c.s.defaults.request(p)
				b = c.s.opens.request(c.s.completes.request(c.s.blocks.request(p)))
			}
			_, err = c.Conn.Write(b)
		}
		if err != nil {
			err = c.fail(err)
		}
	}
	if err != nil && !c.dataNode {
		return 0, err
	}
	return len(p), nil
}

// Close closes the connection; an error it had stays known to the session.
func (c *conn) Close() error {
	c.s.mu.Lock()
	delete(c.s.conns, c)
	c.s.mu.Unlock()
	return c.Conn.Close()
}

// The deadlines are ours: the library would clear them.

func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

func (c *conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail records the first error, closes the socket and returns the error that counts.
func (c *conn) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		if c.err = err; blockError(err) == nil { // that one names its DataNode
			c.err = fmt.Errorf("%s: %w", c.RemoteAddr(), err)
		}
		c.Conn.Close()
		if c.dataNode && !errors.Is(err, fs.ErrClosed) {
			c.s.mu.Lock()
			if c.s.dnErr == nil {
				c.s.dnErr = c.err
			}
			c.s.mu.Unlock()
		}
	}
	return c.err
}
