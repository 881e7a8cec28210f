package hdfsio

import (
	"fmt"
	"sync"
	"time"

	"bulkload/internal/hadoop/dfs"
	"bulkload/internal/hadoop/frames"
)

// maxNameNode is the maximum length of a NameNode's response; ipc.maximum.response.length is 128 MiB by default.
const maxNameNode = 256 << 20

// newNameNodeFilter returns a filter that checks the responses of a NameNode: a header, and a message unless the header
// reports an error.
func newNameNodeFilter() *frames.Filter {
	return &frames.Filter{Most: maxNameNode, Check: func(head []byte, size uint32) (int, string) {
		if size == 0 {
			return 0, ""
		}
		_, to, need, why := frames.Delimited(head, 0, size)
		if need > 0 || why != "" || uint32(to) == size {
			return need, why
		}
		if len(head) <= to {
			return to + 1, ""
		}
		_, _, need, why = frames.Delimited(head, to, size)
		return need, why
	}}
}

// conn is the library's connection to a NameNode. It refuses responses for which the library would allocate 4 GiB or panic,
// and keeps its first error.
type conn struct {
	*dfs.PatientConn
	frames *frames.Filter

	mu  sync.Mutex
	err error
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.PatientConn.Read(p)
	if e := c.frames.Pass(p[:n]); e != nil {
		return 0, c.fail(e)
	}
	if err != nil {
		err = c.fail(err)
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.PatientConn.Write(p)
	if err != nil {
		err = c.fail(err)
	}
	return n, err
}

// conn sets its own deadlines: the library would clear them.

func (c *conn) SetDeadline(time.Time) error      { return nil }
func (c *conn) SetReadDeadline(time.Time) error  { return nil }
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// fail records the first error, closes the socket and returns the error that counts.
func (c *conn) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = fmt.Errorf("%s: %w", c.RemoteAddr(), err)
		c.Conn.Close()
	}
	return c.err
}
